#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/show/explanation/memory_explanation.hpp"
#include "experiments/show/results/result_json.hpp"

namespace penstock {
namespace {

ordered_json stages_json(const std::vector<Stage>& stages) {
  ordered_json all = ordered_json::array();
  for (const Stage stage : stages) all.push_back(index(stage));
  return all;
}

/// Negative if a rank exceeds the capacity.
ordered_json headroom_json(const std::optional<std::uint64_t>& capacity, std::uint64_t peak) {
  if (!capacity) return ordered_json();
  return static_cast<std::int64_t>(*capacity) - static_cast<std::int64_t>(peak);
}

ordered_json ranks_json(const RunResult& result, const MemoryExplanation& explanation) {
  ordered_json all = ordered_json::array();
  for (std::size_t r = 0; r < explanation.stages.size(); ++r) {
    const MemoryPeak& peak = result.report->ranks[r].memory;
    all.push_back(
        {{"rank", r},
         {"stages", stages_json(explanation.stages[r])},
         {"peak_memory_bytes", peak.bytes},
         {"headroom_bytes", headroom_json(explanation.capacity, peak.bytes)},
         {"peak_memory_time_us", to_us(peak.time)},
         {"peak_memory_action",
          peak.task == no_task ? ordered_json() : ordered_json(task_text(*result.plan, peak.task))},
         {"memory_by_kind_bytes", memory_json(peak.by_kind)}});
  }
  return all;
}

ordered_json worst_json(const RunResult& result, const MemoryExplanation& explanation) {
  const std::uint32_t worst = index(explanation.worst);
  const auto bytes = static_cast<double>(result.report->ranks[worst].memory.bytes);
  ordered_json above = ordered_json::object();
  for (const KindAboveMean& one : explanation.above_mean) above[name(one.kind)] = one.bytes;
  return {{"rank", worst},
          {"stages", stages_json(explanation.stages[worst])},
          {"peak_memory_bytes", result.report->ranks[worst].memory.bytes},
          {"mean_bytes", explanation.mean_bytes},
          {"hidden_by_mean", bytes > 0 ? 1 - explanation.mean_bytes / bytes : 0},
          {"above_mean_bytes", std::move(above)}};
}

ordered_json change_json(const TriedChange& change, Time present) {
  const double ratio = present > Time{} ? to_us(change.makespan) / to_us(present) : 1;
  return {{"change", change.change},
          {"rank", index(change.worst)},
          {"peak_memory_bytes", change.peak_bytes},
          {"fits", change.fits ? ordered_json(*change.fits) : ordered_json()},
          {"makespan_us", to_us(change.makespan)},
          {"makespan_ratio", ratio}};
}

const char* aim_name(MemoryAim aim) {
  return aim == MemoryAim::fit ? "fit" : aim == MemoryAim::hold ? "hold" : "buy";
}

}  // namespace

ordered_json memory_explanation_json(const RunResult& result,
                                     const MemoryExplanation& explanation) {
  ordered_json changes = ordered_json::array();
  for (const TriedChange& change : explanation.changes) {
    changes.push_back(change_json(change, result.report->makespan));
  }
  return {{"penstock", 1},
          {"title", result.title},
          {"schedule", result.layout.name},
          {"makespan_us", to_us(result.report->makespan)},
          {"capacity_bytes",
           explanation.capacity ? ordered_json(*explanation.capacity) : ordered_json()},
          {"ranks", ranks_json(result, explanation)},
          {"worst", worst_json(result, explanation)},
          {"aim", aim_name(explanation.aim)},
          {"changes", std::move(changes)},
          {"changes_tried", explanation.tried},
          {"changes_not_tried", explanation.not_tried},
          {"not_modelled", explanation.not_modelled},
          {"findings", findings_json(result.findings)}};
}

}  // namespace penstock
