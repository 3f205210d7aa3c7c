#include "sim/rerun/rerun.hpp"

#include <algorithm>
#include <utility>

#include "sim/engines/events.hpp"
#include "sim/engines/relax.hpp"
#include "sim/rerun/topological_repair.hpp"
#include "sim/rerun/whole_costs.hpp"

namespace penstock {
namespace {

/// Cost of a single task relative to one in a full pass.
constexpr std::uint64_t slowness = 5;
constexpr std::uint64_t few_tasks = 64;

/// Whether the order in which transfers become ready depends on costs.
bool has_several_inputs(const Plan& plan) {
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool several = plan.input[task] != no_task && (plan.input[task] & Plan::several) != 0;
    const Pass pass = plan.class_of(task).pass;
    if (several && is_transfer(pass) && pass != Pass::reduce_early) return true;
  }
  return false;
}

}  // namespace

Rerun::Rerun(PricedPlan priced, Timeline timeline)
    : priced_(std::move(priced)),
      timeline_(std::move(timeline)),
      dirty_(priced_.plan.tasks()),
      relaxes_(!why_not_relax(priced_.plan, priced_.conditions)),
      total_(total_time(priced_.plan, priced_.costs)) {
  if (relaxes_) {
    timeline_.slowed.clear();
    timeline_.memory_wait.clear();
    timeline_.memory.clear();
  }
}

/// Finds the neighbours of each task, at the first change that needs them.
void Rerun::find_neighbours() {
  if (graph_) return;
  graph_.emplace(priced_.plan);
  several_makers_ = links_with_several_makers(priced_.plan);
  waits_for_transfers_ = has_several_inputs(priced_.plan);
  count_launches();
}

/// Simulates what is dirty, or everything when a change may affect everything at once.
Rerun::Answer Rerun::run_again(const std::function<void()>& undo) {
  if (relaxes_) return Done{propagate()};
  dirty_.clear();
  RunOutcome outcome = run_events(priced_);
  if (auto* halt = std::get_if<Standstill>(&outcome)) {
    undo();
    return std::move(*halt);
  }
  timeline_ = std::get<Timeline>(std::move(outcome));
  return Done{priced_.plan.tasks()};
}

/// Simulates dirty tasks and those that change as a result, each once, in ascending order. Switches
/// to a pass over the rest when they are dense.
std::uint64_t Rerun::propagate() {
  const std::uint64_t enough = few_tasks + priced_.plan.tasks() / 128;
  std::uint64_t looked_at = 0;
  TaskId first = no_task;
  for (TaskId task = dirty_.take(); task != no_task; task = dirty_.take()) {
    first = std::min(first, task);
    if (looked_at > enough && looked_at * slowness > task - first) {
      dirty_.clear();
      relax_from(task, priced_, timeline_);
      return looked_at + priced_.plan.tasks() - task;
    }
    ++looked_at;
    if (!work_out(task)) continue;
    if (const TaskId behind = graph_->behind(task); behind != no_task) dirty_.add(behind);
    graph_->for_each_reader(task, [&](TaskId reader) { dirty_.add(reader); });
  }
  return looked_at;
}

/// Returns whether anything about the task changed.
bool Rerun::work_out(TaskId task) {
  const TaskId before = graph_->before(task);
  Time start{};
  if (before != no_task)
    start = timeline_.end[before] - priced_.costs.latency_of(priced_.plan, before);
  TaskId last = no_task;
  priced_.plan.for_each_input(task, [&](TaskId input) {
    if (last == no_task || timeline_.end[input] > timeline_.end[last]) last = input;
  });
  if (last != no_task) start = std::max(start, timeline_.end[last]);
  const bool follows = priced_.plan.class_of(task).follows_partner;
  if (!follows) start = std::max(start, launched(task));
  const Time begin = follows ? timeline_.begin[before] : start;
  const Time end = start + priced_.costs.duration_of(priced_.plan, task) +
                   priced_.costs.latency_of(priced_.plan, task);
  timeline_.last_input[task] = last;
  const bool moved = begin != timeline_.begin[task] || end != timeline_.end[task];
  timeline_.begin[task] = begin;
  timeline_.end[task] = end;
  return moved;
}

/// When the host has launched an action.
Time Rerun::launched(TaskId task) const {
  if (!priced_.costs.has_launches() || is_transfer(priced_.plan.class_of(task).pass)) return {};
  const std::int64_t issues = launches_.empty() ? 0 : launches_[graph_->place(task)];
  return Time{issues * priced_.costs.issue.picoseconds} + priced_.costs.launch;
}

void Rerun::count_launches() {
  launches_.clear();
  if (!graph_ || priced_.costs.issue == Time{}) return;
  launches_.resize(graph_->places());
  for (std::uint32_t rank = 0; rank < priced_.plan.ranks; ++rank) {
    std::uint32_t count = 0;
    for (const TaskId task : graph_->order(rank)) {
      if (!priced_.plan.class_of(task).follows_partner) ++count;
      launches_[graph_->place(task)] = count;
    }
  }
}

}  // namespace penstock
