#include "experiments/explanation/memory_changes.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/layout/training.hpp"
#include "schedules/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// The changes of a scenario, one after the other.
class ChangeList {
 public:
  explicit ChangeList(const Scenario& scenario) : scenario_(scenario) {}

  /// Adds the scenario with what `change` does to it.
  template <class Change>
  void add(std::string name, Change change) {
    Scenario changed = scenario_;
    change(changed);
    all_.push_back({std::move(name), std::move(changed)});
  }
  std::vector<ChangedScenario> take() { return std::move(all_); }

 private:
  const Scenario& scenario_;
  std::vector<ChangedScenario> all_;
};

void add_zero(const Scenario& scenario, const Layout& layout, ChangeList& changes) {
  if (!shares_weights(scenario, layout)) return;
  for (std::uint32_t zero = 0; zero <= 3; ++zero) {
    if (zero == scenario.zero) continue;
    changes.add(fmt::format("/memory/zero={}", zero), [&](Scenario& s) { s.zero = zero; });
  }
}

void add_recomputation(const Scenario& scenario, ChangeList& changes) {
  constexpr std::array<std::pair<const char*, RecomputeMode>, 4> modes{
      {{"none", RecomputeMode::none},
       {"selective", RecomputeMode::selective},
       {"full", RecomputeMode::full},
       {"except_last", RecomputeMode::except_last}}};
  for (const auto& mode : modes) {
    if (scenario.recompute == mode.second) continue;
    changes.add(fmt::format("/recompute/mode={}", mode.first),
                [&](Scenario& s) { s.recompute = mode.second; });
  }
}

/// Ranks may keep half of what they hold, or one activation.
void add_offload(const Scenario& scenario, std::uint32_t most_held, ChangeList& changes) {
  if (scenario.offload) {
    changes.add("without /offload", [](Scenario& s) { s.offload.reset(); });
    return;
  }
  std::uint32_t before = most_held;
  for (const std::uint32_t keep : {(most_held + 1) / 2, 1U}) {
    if (keep == 0 || keep >= before) continue;
    before = keep;
    changes.add(fmt::format("/offload/keep={}", keep),
                [&](Scenario& s) { s.offload = Offload{.keep = keep}; });
  }
}

/// Whether it is known how long a codec takes.
bool coding_has_time(const Scenario& scenario) {
  const CodecChoice& codec = scenario.codec;
  return scenario.hardware_spec.machine || (codec.encode_bytes_per_s && codec.decode_bytes_per_s);
}

/// Stashes of 8 and 4 bits, or as they are. Where a training changes the format as it goes, that
/// says so already.
void add_codecs(const Scenario& scenario, const Layout& layout, ChangeList& changes) {
  if (!layout.schedule.has_backward() || !scenario.codec.phases.empty()) return;
  if (scenario.codec.stash.index() != 0) {
    changes.add("/codec/stash=none", [](Scenario& s) { s.codec.stash = {}; });
  }
  if (!coding_has_time(scenario)) return;
  for (const double bits : {8.0, 4.0}) {
    const CodecSpec codec{"bfp", {{"bits", bits}}};
    const auto* present = std::get_if<CodecSpec>(&scenario.codec.stash);
    if (present != nullptr && *present == codec) continue;
    changes.add(fmt::format("/codec/stash={}", encoding_json(codec).dump()),
                [&](Scenario& s) { s.codec.stash = codec; });
  }
}

std::uint32_t chunks_of(const Layout& layout) {
  return layout.placement.stage_count() / layout.placement.ranks();
}

/// Half the chunks a rank, where the model leaves their number open.
void add_chunks(const Scenario& scenario, const Layout& layout, ChangeList& changes) {
  const std::uint32_t chunks = chunks_of(layout);
  if (scenario.stages_given || scenario.schedule.empty() || chunks < 2) return;
  changes.add(fmt::format("/parallel/chunks={}", chunks / 2),
              [&](Scenario& s) { s.chunks = chunks / 2; });
}

/// Whether another rule would train the same way on cells of the same size.
bool comparable(const ScheduleEntry& entry, const Scenario& scenario, const Layout& layout) {
  return entry.name != scenario.schedule && entry.slices_for == nullptr &&
         entry.weights == layout.schedule.weights().use;
}

ScheduleOptions options_without_settings(const Layout& layout) {
  return {.microbatch_count = layout.microbatches, .settings = {}};
}

/// As many chunks as there are, where another rule can have them; else what is usual for it.
std::uint32_t chunks_under(const ScheduleEntry& entry, const Layout& layout) {
  try {
    entry.place(layout.placement.ranks(), chunks_of(layout));
    return chunks_of(layout);
  } catch (const RuleError&) {
    return usual_chunks(entry, options_without_settings(layout));
  }
}

/// The settings that make a scenario run by another rule. Options of the present one, an order or a
/// policy would stay beside a mere name.
std::string settings_for(const ScheduleEntry& entry, std::uint32_t chunks, const Scenario& scenario,
                         const Layout& layout) {
  const bool bare = scenario.schedule_settings.empty() && !scenario.schedule.empty();
  std::string settings = bare ? fmt::format("/schedule/name={}", entry.name)
                              : fmt::format("/schedule={{\"name\":\"{}\",\"microbatches\":{}}}",
                                            entry.name, layout.microbatches);
  const std::uint32_t otherwise = scenario.chunks.value_or(
      scenario.stages_given ? chunks : usual_chunks(entry, options_without_settings(layout)));
  if (chunks != otherwise) settings += fmt::format(" /parallel/chunks={}", chunks);
  return settings;
}

/// Of an order that no rule made, too.
void add_schedules(const Scenario& scenario, const Layout& layout, ChangeList& changes) {
  const ScheduleEntry* present = find_named(schedule_entries(), scenario.schedule);
  if (present != nullptr && present->slices_for != nullptr) return;
  for (const ScheduleEntry* entry : schedule_entries()) {
    if (!comparable(*entry, scenario, layout)) continue;
    const std::uint32_t chunks = chunks_under(*entry, layout);
    changes.add(settings_for(*entry, chunks, scenario, layout), [&](Scenario& s) {
      s.schedule = entry->name;
      s.policy.clear();
      s.order_file.clear();
      s.chains.clear();
      s.schedule_settings.clear();
      s.microbatches = layout.microbatches;
      s.pipeline = layout.placement.ranks();
      s.chunks = chunks;
    });
  }
}

}  // namespace

std::vector<ChangedScenario> memory_changes(const Scenario& scenario, const Layout& layout,
                                            std::uint32_t most_held) {
  ChangeList changes(scenario);
  add_zero(scenario, layout, changes);
  add_recomputation(scenario, changes);
  add_offload(scenario, most_held, changes);
  add_codecs(scenario, layout, changes);
  add_chunks(scenario, layout, changes);
  add_schedules(scenario, layout, changes);
  return changes.take();
}

}  // namespace penstock
