#include "experiments/show/explanation/memory_explanation.hpp"

#include <algorithm>

#include "experiments/run/changes/scenario_changes.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

std::vector<std::vector<Stage>> stages_of_ranks(const Plan& plan) {
  std::vector<std::vector<Stage>> stages(plan.ranks);
  for (const BufferClass& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::parameters) stages[index(buffer.rank)].push_back(buffer.stage);
  }
  return stages;
}

template <class Bytes>
double mean_over_ranks(const Report& report, Bytes bytes) {
  double sum = 0;
  for (const RankReport& rank : report.ranks) sum += static_cast<double>(bytes(rank.memory));
  return sum / static_cast<double>(report.ranks.size());
}

std::vector<KindAboveMean> above_mean(const Report& report, Rank worst) {
  std::vector<KindAboveMean> all;
  for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
    const auto of_kind = [&](const MemoryPeak& peak) { return peak.by_kind[kind]; };
    const double above = static_cast<double>(of_kind(report.ranks[index(worst)].memory)) -
                         mean_over_ranks(report, of_kind);
    if (above != 0) all.push_back({BufferKind{kind}, above});
  }
  std::ranges::stable_sort(all, std::greater{}, &KindAboveMean::bytes);
  return all;
}

bool helps(const TriedChange& change, MemoryAim aim, std::uint64_t peak, Time makespan) {
  if (aim == MemoryAim::buy) return change.fits() == true && change.makespan < makespan;
  return change.peak_bytes < peak;
}

void add_changes(const Scenario& scenario, const RunResult& result, MemoryExplanation& all) {
  const std::uint64_t peak = highest_peak(*result.report, result.batch).bytes;
  const TriedChanges tried = try_changes(
      scenario, result,
      changes_of(scenario, result, {.degrees = false, .offloads = true, .codecs = true}),
      {.over_draws = false});
  all.tried = static_cast<std::uint32_t>(tried.changes.size());
  all.not_tried = tried.not_tried;
  for (const TriedChange& change : tried.changes) {
    if (helps(change, all.aim, peak, result.report->makespan)) all.changes.push_back(change);
  }
  std::ranges::stable_sort(all.changes, [](const TriedChange& a, const TriedChange& b) {
    const bool a_fits = a.fits().value_or(true), b_fits = b.fits().value_or(true);
    if (a_fits != b_fits) return a_fits;
    if (a.makespan != b.makespan) return a.makespan < b.makespan;
    return a.peak_bytes < b.peak_bytes;
  });
}

std::vector<std::string> not_modelled(const DeviceMemory& memory, const Report& report) {
  std::vector<std::string> texts;
  const std::vector<BufferKind> held = kinds_held(report);
  const auto unless = [&](bool modelled, const char* text) {
    if (!modelled) texts.emplace_back(text);
  };
  const auto unless_held = [&](BufferKind kind, const char* text) {
    unless(std::ranges::count(held, kind) > 0, text);
  };
  unless_held(BufferKind::context,
              "device context and communication buffers: /memory/context_bytes is 0");
  unless(memory.reserve > 0, "allocator fragmentation: /memory/reserve is 0");
  unless_held(BufferKind::weight_gradients, "weight gradients: /memory/optimizer is \"none\"");
  unless_held(BufferKind::optimizer, "optimizer state: /memory/optimizer has none");
  unless_held(BufferKind::stash, "activations: no stage states how much it keeps");
  unless_held(BufferKind::workspace,
              "temporary memory inside a pass: no layer states how much it needs");
  unless(memory.zero < 2, "gradients that ZeRO is still reducing");
  unless(false, "received gradients that are not read yet");
  return texts;
}

}  // namespace

RunResult run_for_memory(const Scenario& scenario) {
  RunResult result = run(scenario);
  if (result.report || scenario.memory.policy != MemoryPolicy::stall) return result;
  RunResult instead = run(changed(scenario, {"/memory/policy=finding"}));
  instead.findings.insert(instead.findings.begin(), result.findings.begin(), result.findings.end());
  return instead;
}

MemoryExplanation explain_memory(const Scenario& scenario, const RunResult& result) {
  const Report& report = *result.report;
  MemoryExplanation all;
  all.capacity = result.layout.memory.capacity_bytes;
  all.reserved = result.layout.memory.reserved_bytes();
  all.word = worst_memory(result).word;
  all.stages = stages_of_ranks(*result.plan);
  all.worst = worst_of(report);
  all.mean_bytes = mean_over_ranks(report, [](const MemoryPeak& peak) { return peak.bytes; });
  all.above_mean = above_mean(report, all.worst);
  if (all.word) all.aim = *all.word == MemoryWord::fits ? MemoryAim::buy : MemoryAim::fit;
  add_changes(scenario, result, all);
  all.not_modelled = not_modelled(result.layout.memory, report);
  return all;
}

}  // namespace penstock
