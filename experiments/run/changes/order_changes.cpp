#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "experiments/run/changes/scenario_changes.hpp"
#include "schedules/registry.hpp"

namespace penstock {
namespace {

/// Collects other orders and chunk counts.
class OrderChanges {
 public:
  OrderChanges(const Scenario& scenario, const Layout& layout)
      : scenario_(scenario), layout_(layout) {}

  /// The present order with other chunk counts.
  void add_chunks() {
    if (layout_.rule == nullptr && layout_.policy == nullptr) return;
    for (const std::uint32_t count : other_chunks()) {
      all_.push_back(
          {.settings = {fmt::format("/parallel/chunks={}", count)}, .keeps_pipeline = true});
    }
  }

  /// Other schedules, also instead of a given order.
  void add_schedules() {
    for (const ScheduleEntry* entry : schedule_entries()) {
      if (comparable(*entry)) add_schedule(*entry, chunks_under(*entry));
    }
  }

  /// Other schedules with other chunk counts.
  void add_interleaving() {
    for (const ScheduleEntry* entry : schedule_entries()) {
      if (!comparable(*entry)) continue;
      std::set<std::uint32_t> counts;
      for (const std::uint32_t count : other_chunks()) counts.insert(count);
      counts.insert(chunks());
      counts.erase(chunks_under(*entry));
      for (const std::uint32_t count : counts) {
        if (takes(*entry, count)) add_schedule(*entry, count);
      }
    }
  }

  std::vector<ScenarioChange> take() { return std::move(all_); }

 private:
  /// Whether another rule trains the same way on cells of the same size.
  bool comparable(const ScheduleEntry& entry) const {
    const bool slices = layout_.rule != nullptr && layout_.rule->slices_for != nullptr;
    return !slices && &entry != layout_.rule && entry.slices_for == nullptr &&
           entry.weights == layout_.schedule.weights().use;
  }
  bool takes(const ScheduleEntry& entry, std::uint32_t chunks) const {
    return takes_chunks(entry, layout_.placement.ranks(), chunks);
  }
  std::uint32_t chunks() const {
    return layout_.placement.stage_count() / layout_.placement.ranks();
  }
  std::uint32_t usual_chunks_of(const ScheduleEntry& entry) const {
    return usual_chunks(entry, {.microbatch_count = layout_.microbatches, .settings = {}});
  }
  /// The present chunk count if the other rule accepts it, else that rule's default.
  std::uint32_t chunks_under(const ScheduleEntry& entry) const {
    return takes(entry, chunks()) ? chunks() : usual_chunks_of(entry);
  }

  /// Other chunk counts, if the model leaves them open: a few small ones, half and twice the
  /// present count, and the most that the layers allow.
  std::vector<std::uint32_t> other_chunks() const {
    if (scenario_.model.stages_given) return {};
    const std::uint32_t most = most_chunks(layout_);
    std::set<std::uint32_t> counts{1, 2, 3, 4, 6, 8, chunks() / 2, 2 * chunks(), most};
    std::erase_if(counts, [&](std::uint32_t count) {
      return count == 0 || count > most || count == chunks();
    });
    return {counts.begin(), counts.end()};
  }

  void add_schedule(const ScheduleEntry& entry, std::uint32_t chunks) {
    ScenarioChange change{.settings = {schedule_setting(entry, layout_)}, .keeps_pipeline = true};
    const std::uint32_t otherwise = scenario_.parallel.chunks.value_or(
        scenario_.model.stages_given ? chunks : usual_chunks_of(entry));
    if (chunks != otherwise) change.settings.push_back(fmt::format("/parallel/chunks={}", chunks));
    all_.push_back(std::move(change));
  }

  const Scenario& scenario_;
  const Layout& layout_;
  std::vector<ScenarioChange> all_;
};

}  // namespace

std::uint32_t most_chunks(const Layout& layout) {
  return static_cast<std::uint32_t>(layout.model.layers.size()) /
         std::max(layout.placement.ranks(), 1U);
}

bool takes_chunks(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t chunks) {
  try {
    entry.place(ranks, chunks);
    return true;
  } catch (const RuleError&) {
    return false;
  }
}

std::string schedule_setting(const ScheduleEntry& entry, const Layout& layout) {
  if (layout.rule != nullptr && layout.options.settings.empty()) {
    return fmt::format("/schedule/name={}", entry.name);
  }
  return fmt::format("/schedule={{\"name\":\"{}\",\"microbatches\":{}}}", entry.name,
                     layout.microbatches);
}

std::vector<ScenarioChange> order_changes(const Scenario& scenario, const Layout& layout) {
  OrderChanges changes(scenario, layout);
  changes.add_chunks();
  changes.add_schedules();
  changes.add_interleaving();
  return changes.take();
}

}  // namespace penstock
