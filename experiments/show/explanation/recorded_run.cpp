#include "experiments/show/explanation/recorded_run.hpp"

#include <algorithm>
#include <utility>

#include "experiments/show/explanation/explanation.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

/// The transfers of each link, by begin.
std::vector<std::vector<TaskId>> transfers_by_link(const Plan& plan, const Timeline& timeline) {
  std::vector<std::vector<TaskId>> links(plan.links.size());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (plan.is_link(resource)) links[resource - plan.ranks].push_back(task);
  }
  for (auto& transfers : links) {
    std::ranges::stable_sort(
        transfers, [&](TaskId a, TaskId b) { return timeline.begin[a] < timeline.begin[b]; });
  }
  return links;
}

Costs costs_of_times(const Plan& plan, const Timeline& timeline) {
  Costs costs;
  costs.duration.resize(plan.classes.size());
  costs.latency.resize(plan.classes.size());
  costs.bytes.resize(plan.buffers.size());
  costs.task_latency.resize(plan.tasks());
  for (const auto& transfers : transfers_by_link(plan, timeline)) {
    for (std::size_t i = 0; i + 1 < transfers.size(); ++i) {
      const Time late = timeline.end[transfers[i]] - timeline.begin[transfers[i + 1]];
      costs.task_latency[transfers[i]] = std::max(late, Time{});
    }
  }
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Time took = timeline.end[task] - timeline.begin[task];
    costs.task_duration.push_back(took - time_in(timeline.slowed, task) - costs.task_latency[task]);
  }
  return costs;
}

bool knows_last_inputs(const Timeline& timeline) {
  return std::ranges::any_of(timeline.last_input, [](TaskId input) { return input != no_task; });
}

}  // namespace

RunResult run_of_recording(Recording recording) {
  RunResult run;
  run.title = std::move(recording.title);
  run.layout.name = recording.plan.schedule;
  run.timeline = std::move(recording.timeline);
  if (!knows_last_inputs(run.timeline)) {
    find_last_inputs(recording.plan, run.timeline);
    run.notes.emplace_back(
        "the timeline does not record which input came last: it is told by ends");
  }
  run.costs = costs_of_times(recording.plan, run.timeline);
  run.report = summarize(recording.plan, run.costs, run.timeline);
  run.plan = std::move(recording.plan);
  return run;
}

Explanation explain_recorded(const RunResult& run) {
  Explanation explanation = explain_times(run);
  explanation.notes = run.notes;
  explanation.notes.emplace_back(
      "gains from shorter stages, changes and memory need the scenario: penstock explain SCENARIO "
      "simulates them");
  return explanation;
}

}  // namespace penstock
