#include "experiments/show/explanation/scenario_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/run/chain.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/run.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

std::uint32_t most_held(const Report& report) {
  std::uint32_t most = 0;
  for (const RankReport& rank : report.ranks) most = std::max(most, rank.peak_activations);
  return most;
}

/// Collects changes of a scenario.
class Proposals {
 public:
  Proposals(const Scenario& scenario, const RunResult& result)
      : scenario_(scenario), layout_(result.layout), report_(*result.report) {}

  void add_zero();
  void add_recomputation();
  void add_offload();
  void add_codecs();
  void add_chunks();
  void add_schedules();
  void add_interleaving();
  std::vector<ScenarioChange> take() { return std::move(all_); }

 private:
  void add(std::string setting) { all_.push_back({.settings = {std::move(setting)}}); }
  bool coding_has_time() const;
  bool comparable(const ScheduleEntry& entry) const;
  bool takes_chunks(const ScheduleEntry& entry, std::uint32_t chunks) const;
  std::uint32_t chunks_under(const ScheduleEntry& entry) const;
  std::vector<std::uint32_t> other_chunks() const;
  void add_schedule(const ScheduleEntry& entry, std::uint32_t chunks);
  std::string schedule_setting(const ScheduleEntry& entry) const;
  std::uint32_t chunks() const {
    return layout_.placement.stage_count() / layout_.placement.ranks();
  }
  ScheduleOptions options_without_settings() const {
    return {.microbatch_count = layout_.microbatches, .settings = {}};
  }

  const Scenario& scenario_;
  const Layout& layout_;
  const Report& report_;
  std::vector<ScenarioChange> all_;
};

void Proposals::add_zero() {
  if (!shares_weights(layout_)) return;
  for (std::uint32_t zero = 0; zero <= 3; ++zero) {
    if (zero != layout_.memory.zero) add(fmt::format("/memory/zero={}", zero));
  }
}

void Proposals::add_recomputation() {
  constexpr std::array<std::pair<const char*, RecomputeMode>, 4> modes{
      {{"none", RecomputeMode::none},
       {"selective", RecomputeMode::selective},
       {"full", RecomputeMode::full},
       {"except_last", RecomputeMode::except_last}}};
  for (const auto& [name, mode] : modes) {
    if (layout_.recompute.mode != mode) add(fmt::format("/recompute/mode={}", name));
  }
}

/// Ranks keep half of their activations, or one.
void Proposals::add_offload() {
  if (scenario_.offload) {
    all_.push_back({.left_out = {"offload"}});
    return;
  }
  const std::uint32_t most = most_held(report_);
  std::uint32_t before = most;
  for (const std::uint32_t keep : {(most + 1) / 2, 1U}) {
    if (keep == 0 || keep >= before) continue;
    before = keep;
    add(fmt::format("/offload/keep={}", keep));
  }
}

/// Whether the speed of codecs is known.
bool Proposals::coding_has_time() const {
  const CodecChoice& codec = layout_.codec;
  return layout_.hardware.spec.machine || (codec.encode_bytes_per_s && codec.decode_bytes_per_s);
}

/// Stashes with 8 and 4 bits, or unencoded. Not for formats that change during training.
void Proposals::add_codecs() {
  const CodecChoice& asked = scenario_.codec;
  if (!layout_.schedule.has_backward() || !asked.phases.empty()) return;
  if (asked.stash.index() != 0) add("/codec/stash=none");
  if (!coding_has_time()) return;
  for (const double bits : {8.0, 4.0}) {
    const CodecSpec codec{"bfp", {{"bits", bits}}};
    const auto* present = std::get_if<CodecSpec>(&asked.stash);
    if (present != nullptr && *present == codec) continue;
    add(fmt::format("/codec/stash={}", encoding_json(codec).dump()));
  }
}

/// Other chunk counts, if the model leaves them open: a few small ones, half and twice the present
/// count, and the most that the layers allow.
std::vector<std::uint32_t> Proposals::other_chunks() const {
  if (scenario_.model.stages_given) return {};
  const auto most = static_cast<std::uint32_t>(layout_.model.layers.size()) /
                    std::max(layout_.placement.ranks(), 1U);
  std::set<std::uint32_t> counts{1, 2, 3, 4, 6, 8, chunks() / 2, 2 * chunks(), most};
  std::erase_if(
      counts, [&](std::uint32_t count) { return count == 0 || count > most || count == chunks(); });
  return {counts.begin(), counts.end()};
}

/// The present order with other chunk counts.
void Proposals::add_chunks() {
  if (layout_.rule == nullptr && layout_.policy == nullptr) return;
  for (const std::uint32_t count : other_chunks()) {
    all_.push_back({.settings = {fmt::format("/parallel/chunks={}", count)},
                    .left_out = {},
                    .keeps_pipeline = true});
  }
}

/// Whether another rule trains the same way on cells of the same size.
bool Proposals::comparable(const ScheduleEntry& entry) const {
  const bool slices = layout_.rule != nullptr && layout_.rule->slices_for != nullptr;
  return !slices && &entry != layout_.rule && entry.slices_for == nullptr &&
         entry.weights == layout_.schedule.weights().use;
}

bool Proposals::takes_chunks(const ScheduleEntry& entry, std::uint32_t chunks) const {
  try {
    entry.place(layout_.placement.ranks(), chunks);
    return true;
  } catch (const RuleError&) {
    return false;
  }
}

/// The present chunk count if the other rule accepts it, else that rule's default.
std::uint32_t Proposals::chunks_under(const ScheduleEntry& entry) const {
  return takes_chunks(entry, chunks()) ? chunks() : usual_chunks(entry, options_without_settings());
}

/// A schedule given by name alone would keep the present options, order or policy.
std::string Proposals::schedule_setting(const ScheduleEntry& entry) const {
  if (layout_.rule != nullptr && layout_.options.settings.empty()) {
    return fmt::format("/schedule/name={}", entry.name);
  }
  return fmt::format("/schedule={{\"name\":\"{}\",\"microbatches\":{}}}", entry.name,
                     layout_.microbatches);
}

void Proposals::add_schedule(const ScheduleEntry& entry, std::uint32_t chunks) {
  ScenarioChange change{
      .settings = {schedule_setting(entry)}, .left_out = {}, .keeps_pipeline = true};
  const std::uint32_t otherwise = scenario_.parallel.chunks.value_or(
      scenario_.model.stages_given ? chunks : usual_chunks(entry, options_without_settings()));
  if (chunks != otherwise) change.settings.push_back(fmt::format("/parallel/chunks={}", chunks));
  all_.push_back(std::move(change));
}

/// Other schedules, also instead of a given order.
void Proposals::add_schedules() {
  for (const ScheduleEntry* entry : schedule_entries()) {
    if (comparable(*entry)) add_schedule(*entry, chunks_under(*entry));
  }
}

/// Other schedules with other chunk counts.
void Proposals::add_interleaving() {
  for (const ScheduleEntry* entry : schedule_entries()) {
    if (!comparable(*entry)) continue;
    std::set<std::uint32_t> counts;
    for (const std::uint32_t count : other_chunks()) counts.insert(count);
    counts.insert(chunks());
    counts.erase(chunks_under(*entry));
    for (const std::uint32_t count : counts) {
      if (takes_chunks(*entry, count)) add_schedule(*entry, count);
    }
  }
}

struct Degree {
  const char* key;
  std::uint32_t now;
};

std::string microbatches_setting(std::uint32_t count) {
  return fmt::format("/schedule/microbatches={}", count);
}

/// One degree doubled, another halved; nothing if the batch cannot follow.
std::vector<std::string> moved(const Degree& more, const Degree& less, std::uint32_t microbatches) {
  std::vector<std::string> settings{fmt::format("/parallel/{}={}", more.key, 2 * more.now),
                                    fmt::format("/parallel/{}={}", less.key, less.now / 2)};
  const std::string_view data = "data";
  if (more.key == data) {
    if (microbatches % 2 != 0) return {};
    settings.push_back(microbatches_setting(microbatches / 2));
  } else if (less.key == data) {
    settings.push_back(microbatches_setting(2 * microbatches));
  }
  return settings;
}

void add_degrees(const Layout& layout, std::vector<ScenarioChange>& changes) {
  const std::array<Degree, 4> degrees{{{"pipeline", layout.placement.ranks()},
                                       {"tensor", layout.degrees.tensor},
                                       {"data", layout.degrees.data},
                                       {"context", layout.degrees.context}}};
  for (const Degree& more : degrees) {
    for (const Degree& less : degrees) {
      if (&more == &less || less.now % 2 != 0) continue;
      auto settings = moved(more, less, layout.microbatches);
      if (!settings.empty()) changes.push_back({.settings = std::move(settings), .left_out = {}});
    }
  }
}

/// Groups of experts twice and half as large, and experts that are whole on a device.
void add_experts(const Layout& layout, std::vector<ScenarioChange>& changes) {
  const auto& layers = layout.model.layers;
  if (std::ranges::none_of(layers, [](const Layer& one) { return one.expert_parameter_bytes > 0; }))
    return;
  const auto add = [&](std::string_view key, std::uint32_t value) {
    changes.push_back({.settings = {fmt::format("/parallel/{}={}", key, value)}, .left_out = {}});
  };
  const std::uint32_t expert = layout.degrees.expert;
  add("expert", 2 * expert);
  if (expert % 2 == 0) add("expert", expert / 2);
  if (layout.degrees.expert_tensor > 1) add("expert_tensor", 1);
}

void add_microbatches(const Layout& layout, std::vector<ScenarioChange>& changes) {
  const std::uint32_t count = layout.microbatches;
  const double size = layout.batch.microbatch.value_or(1);
  const auto add = [&](double of_size, std::uint32_t many) {
    changes.push_back(
        {.settings = {fmt::format("/model/microbatch={}", of_size), microbatches_setting(many)},
         .left_out = {}});
  };
  if (count % 2 == 0) add(2 * size, count / 2);
  if (size >= 2) add(size / 2, 2 * count);
}

constexpr std::uint32_t most_runs = 64;
constexpr std::uint32_t fewest_runs = 4;

/// A simulated change, and the size of its run.
struct SizedChange {
  TriedChange change;
  std::uint64_t tasks = 0;
};

bool same_pipeline(const Layout& one, const Layout& other) {
  return one.placement.ranks() == other.placement.ranks() && one.microbatches == other.microbatches;
}

bool trains_alike(const Layout& one, const Layout& other) {
  return devices_of(one) == devices_of(other) && global_batch_of(one) == global_batch_of(other) &&
         one.schedule.has_backward() == other.schedule.has_backward();
}

/// Runs the scenario with the change, as a user would; nothing if it is refused or the run
/// deadlocks.
std::optional<SizedChange> simulated(const Scenario& scenario, const ScenarioChange& wanted,
                                     const Layout& present, Chain& chain) {
  try {
    Layout layout = chain.layout(chain.changed(scenario, wanted.settings, wanted.left_out));
    if (wanted.keeps_pipeline && !same_pipeline(layout, present)) return {};
    const RunResult result = run(chain, std::move(layout));
    if (!result.report || !trains_alike(result.layout, present)) return {};
    TriedChange change{.change = wanted.text(),
                       .worst = worst_of(*result.report),
                       .makespan = result.report->makespan};
    change.peak_bytes = result.report->ranks[index(change.worst)].memory.bytes;
    if (const auto capacity = result.layout.memory.capacity_bytes) {
      change.fits = change.peak_bytes <= *capacity;
    }
    return SizedChange{change, result.plan->tasks()};
  } catch (const InputError&) {
    return {};
  } catch (const RuleError&) {
    return {};
  }
}

/// The changes above that keep what is computed, on the same devices: ZeRO levels, recomputation,
/// chunk counts and other schedules.
std::vector<ScenarioChange> order_changes(const Scenario& scenario, const RunResult& result) {
  Proposals proposals(scenario, result);
  proposals.add_schedules();
  proposals.add_chunks();
  proposals.add_recomputation();
  proposals.add_zero();
  proposals.add_interleaving();
  return proposals.take();
}

/// Neighbours of a scenario with the same devices and global batch: degrees of parallelism with a
/// factor of two moved from one to another, other groups of experts, microbatches of half and twice
/// the size, and other orders. Rules may refuse them; only trying shows that.
std::vector<ScenarioChange> step_changes(const Scenario& scenario, const RunResult& result) {
  std::vector<ScenarioChange> changes;
  const Layout& layout = result.layout;
  const bool is_named = layout.rule != nullptr || layout.policy != nullptr;
  if (is_named && layout.hardware.spec.machine && !scenario.model.stages_given) {
    add_degrees(layout, changes);
    add_experts(layout, changes);
    add_microbatches(layout, changes);
  }
  for (ScenarioChange& change : order_changes(scenario, result)) {
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace

std::string ScenarioChange::text() const {
  std::string text = fmt::format("{}", fmt::join(settings, " "));
  for (const std::string& section : left_out) text += "without /" + section;
  return text;
}

std::vector<ScenarioChange> memory_changes(const Scenario& scenario, const RunResult& result) {
  Proposals proposals(scenario, result);
  proposals.add_zero();
  proposals.add_recomputation();
  proposals.add_offload();
  proposals.add_codecs();
  proposals.add_chunks();
  proposals.add_schedules();
  proposals.add_interleaving();
  return proposals.take();
}

std::vector<TriedChange> faster_changes(const Scenario& scenario, const RunResult& result) {
  constexpr std::uint64_t most_tasks = std::uint64_t{1} << 21;
  constexpr double worth_saying = 0.99;
  constexpr std::size_t most = 5;
  const double most_us = worth_saying * to_us(result.report->makespan);
  std::vector<TriedChange> changes =
      try_changes(scenario, result, step_changes(scenario, result), most_tasks).changes;
  std::erase_if(changes, [&](const TriedChange& change) {
    return change.fits == false || to_us(change.makespan) > most_us;
  });
  std::ranges::stable_sort(changes, [](const TriedChange& a, const TriedChange& b) {
    return a.makespan != b.makespan ? a.makespan < b.makespan : a.peak_bytes < b.peak_bytes;
  });
  if (changes.size() > most) changes.resize(most);
  return changes;
}

TriedChanges try_changes(const Scenario& scenario, const RunResult& result,
                         const std::vector<ScenarioChange>& changes, std::uint64_t most_tasks) {
  TriedChanges all;
  std::uint64_t tasks = 0;
  Chain chain;
  for (const ScenarioChange& candidate : changes) {
    const std::size_t runs = all.changes.size();
    if (runs == most_runs || (runs >= fewest_runs && tasks >= most_tasks)) {
      ++all.not_tried;
      continue;
    }
    const auto tried = simulated(scenario, candidate, result.layout, chain);
    if (!tried) continue;
    tasks += tried->tasks;
    all.changes.push_back(tried->change);
  }
  return all;
}

}  // namespace penstock
