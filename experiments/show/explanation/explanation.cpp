#include "experiments/show/explanation/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/show/explanation/memory_explanation.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

/// The number of predictions to check by simulation.
constexpr std::size_t most_sensitivities = 8;

/// The most remedies listed; `explain --memory` has all.
constexpr std::size_t most_remedies = 10;

std::vector<PathStretch> stretches_of(const Plan& plan, const std::vector<PathStep>& path) {
  std::vector<PathStretch> stretches;
  for (const PathStep& step : path) {
    const std::uint32_t resource = plan.class_of(step.task).resource;
    const bool opens = stretches.empty() || stretches.back().resource != resource;
    // Leaves out free transfers and steps without duration.
    const bool moves = plan.is_link(resource) || moves_stash(plan.class_of(step.task).pass);
    if (step.begin == step.end && (opens || moves)) continue;
    if (opens) stretches.push_back({resource, step.task, step.task, 0, step.begin, step.end});
    PathStretch& stretch = stretches.back();
    stretch.last = step.task;
    stretch.end = step.end;
    stretch.waits += step.waits;
    ++stretch.tasks;
  }
  return stretches;
}

std::vector<PathShare> shares_of(const Plan& plan, const std::vector<PathStep>& path) {
  std::map<std::pair<Pass, Stage>, PathShare> by_work;
  for (const PathStep& step : path) {
    const WorkClass& work = plan.class_of(step.task);
    const PathShare none{work.pass, work.stage};
    PathShare& share = by_work.try_emplace({work.pass, work.stage}, none).first->second;
    share.time += step.work();
    ++share.tasks;
  }
  std::vector<PathShare> shares;
  for (const auto& [key, share] : by_work) {
    if (share.time > Time{}) shares.push_back(share);
  }
  std::ranges::stable_sort(shares, std::greater{}, &PathShare::time);
  return shares;
}

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

/// What makes a run fit that does not, as `explain --memory` has it.
void add_remedies(const Scenario& scenario, const RunResult& result, Explanation& explanation) {
  MemoryExplanation memory = explain_memory(scenario, result);
  std::vector<TriedChange>& changes = explanation.changes = std::move(memory.changes);
  const bool any = !changes.empty() && changes.front().fits() == true;
  if (any) std::erase_if(changes, [](const TriedChange& one) { return one.fits() != true; });
  if (changes.size() > most_remedies) changes.resize(most_remedies);
  const std::string remedy =
      any ? fmt::format("use {}", changes.front().change.options())
          : fmt::format("none of {} makes it fit; use more devices, or several changes together",
                        counted(memory.tried, "change"));
  explanation.advice = {lack_text(result) + ": " + remedy};
}

}  // namespace

Explanation explain_times(const RunResult& result) {
  const Plan& plan = *result.plan;
  const std::vector<PathStep>& path = result.report->critical_path;
  Explanation explanation;
  explanation.path = stretches_of(plan, path);
  explanation.shares = shares_of(plan, path);
  for (const PathStep& step : path) explanation.waits += step.waits;
  explanation.gaps = idle_gaps(plan, result.timeline);
  std::ranges::stable_sort(explanation.gaps, std::greater{},
                           [](const IdleGap& gap) { return gap.end - gap.begin; });
  for (const IdleGap& gap : explanation.gaps) explanation.idle += gap.causes;
  explanation.advice = advice_for(result, explanation);
  return explanation;
}

Explanation explain(const RunResult& result) {
  Explanation explanation = explain_times(result);
  explanation.sensitivity = sensitivities(result, most_sensitivities);
  if (result.replica) {
    explanation.notes.push_back(
        fmt::format("data replicas differ: the critical path is that of replica {}, and its "
                    "reductions include their waits for slower ones",
                    *result.replica));
  }
  return explanation;
}

Explanation explain(const Scenario& scenario, const RunResult& result) {
  Explanation explanation = explain(result);
  if (does_not_fit(result)) {
    add_remedies(scenario, result, explanation);
    return explanation;
  }
  FasterChanges faster = faster_changes(scenario, result);
  explanation.changes = std::move(faster.changes);
  explanation.now = std::move(faster.now);
  return explanation;
}

bool does_not_fit(const RunResult& result) {
  return worst_memory(result).word == MemoryWord::does_not_fit;
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

RunResult run_of_recording(Recording recording) {
  RunResult run;
  run.title = std::move(recording.title);
  run.layout.name = recording.plan.schedule;
  run.timeline = std::move(recording.timeline);
  if (std::ranges::all_of(run.timeline.last_input, [](TaskId input) { return input == no_task; })) {
    find_last_inputs(recording.plan, run.timeline);
    run.notes.emplace_back(
        "the timeline does not record which input came last: it is told by ends");
  }
  const auto unaligned = run.timeline.environment.find(unaligned_key);
  if (unaligned != run.timeline.environment.end()) run.notes.push_back(unaligned->second);
  run.costs = costs_of_times(recording.plan, run.timeline);
  run.report = summarize(recording.plan, run.costs, run.timeline);
  run.plan = std::move(recording.plan);
  return run;
}

Explanation explain_recorded(const RunResult& run) {
  Explanation explanation = explain_times(run);
  explanation.notes = run.notes;
  if (explanation.waits.contention > Time{} ||
      time_of(explanation.idle, IdleCause::contention) > Time{}) {
    explanation.notes.emplace_back(
        "a recording does not say whether transfers wait for their receivers, or how many may be "
        "under way: contention includes such waits, which no bandwidth shortens");
  }
  explanation.notes.emplace_back(
      "gains from shorter stages, changes and memory need the scenario: penstock explain SCENARIO "
      "simulates them");
  return explanation;
}

}  // namespace penstock
