#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/show/explanation/explain.hpp"
#include "experiments/show/results/result_json.hpp"

namespace penstock {
namespace {

ordered_json gap_json(const Plan& plan, const IdleGap& gap) {
  const auto name = [&](TaskId task) {
    return task == no_task ? ordered_json() : ordered_json(task_text(plan, task));
  };
  ordered_json all{{"rank", index(gap.rank)},
                   {"start_us", to_us(gap.begin)},
                   {"end_us", to_us(gap.end)},
                   {"idle_by_cause_us", causes_json(gap.causes)},
                   {"next", name(gap.next)},
                   {"waits_for", name(gap.producer)},
                   {"waits_for_rank", nullptr},
                   {"transfer", gap.input == gap.producer ? ordered_json() : name(gap.input)}};
  if (gap.producer != no_task) all["waits_for_rank"] = plan.class_of(gap.producer).resource;
  return all;
}

ordered_json sensitivity_json(const Sensitivity& one, double makespan_us) {
  const auto share = [&](double us) { return makespan_us > 0 ? us / makespan_us : 0; };
  return {{"what", one.what},
          {"on_path_us", to_us(one.on_path)},
          {"predicted_us", to_us(one.predicted)},
          {"rerun_us", one.gain ? ordered_json(to_us(*one.gain)) : ordered_json()},
          {"predicted_share", share(to_us(one.predicted))},
          {"rerun_share", one.gain ? ordered_json(share(to_us(*one.gain))) : ordered_json()}};
}

ordered_json changes_json(const std::vector<TriedChange>& changes) {
  ordered_json all = ordered_json::array();
  for (const TriedChange& change : changes) {
    all.push_back({{"change", change.change},
                   {"makespan_us", to_us(change.makespan)},
                   {"peak_bytes", change.peak_bytes},
                   {"fits", change.fits ? ordered_json(*change.fits) : ordered_json()}});
  }
  return all;
}

}  // namespace

ordered_json explanation_json(const RunResult& result, const Explanation& explanation) {
  const Plan& plan = *result.plan;
  ordered_json shares = ordered_json::array();
  for (const PathShare& share : explanation.shares) {
    shares.push_back({{"pass", letters(share.pass)},
                      {"stage", index(share.stage)},
                      {"time_us", to_us(share.time)},
                      {"count", share.tasks}});
  }
  ordered_json sensitivity = ordered_json::array();
  for (const Sensitivity& one : explanation.sensitivity) {
    sensitivity.push_back(sensitivity_json(one, to_us(result.report->makespan)));
  }
  ordered_json gaps = ordered_json::array();
  for (const IdleGap& gap : explanation.gaps) gaps.push_back(gap_json(plan, gap));
  return {
      {"penstock", 1},
      {"title", result.title},
      {"schedule", result.layout.name},
      {"makespan_us", to_us(result.report->makespan)},
      {"critical_path", critical_path_json(plan, result.timeline, result.report->critical_path)},
      {"critical_path_by_stage", std::move(shares)},
      {"critical_path_memory_us", to_us(explanation.waits.memory)},
      {"critical_path_launch_us", to_us(explanation.waits.launch)},
      {"critical_path_contention_us", to_us(explanation.waits.contention)},
      {"critical_path_slowdown_us", to_us(explanation.waits.slowdown)},
      {"sensitivity", std::move(sensitivity)},
      {"idle_us", to_us(explanation.idle.total())},
      {"idle_by_cause_us", causes_json(explanation.idle)},
      {"gaps", std::move(gaps)},
      {"changes", changes_json(explanation.changes)},
      {"advice", explanation.advice},
      {"notes", explanation.notes},
      {"findings", findings_json(result.findings)}};
}

}  // namespace penstock
