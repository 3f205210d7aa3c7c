#include "gui/models/run/slack.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/costs/network.hpp"
#include "sim/engines/events.hpp"
#include "sim/engines/transfers.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {
namespace {

/// When all that a task reads is there.
Time inputs_at(const ViewedRun& run, TaskId task) {
  Time latest{};
  run.plan.for_each_input(
      task, [&](TaskId input) { latest = std::max(latest, run.timeline.end[input]); });
  return latest;
}

using TasksByPlace = std::vector<std::vector<TaskId>>;

/// Transfers that may meet, by begin: those of links of the plan where they get in line as they
/// come, and those of physical links that these use. A link that no other shares is left out.
TasksByPlace meeting_transfers(const ViewedRun& run) {
  const Plan& plan = run.plan;
  const Network& network = run.conditions.network;
  const std::vector<bool> is_private = private_links(plan, network);
  TasksByPlace places(plan.links.size() + network.links.size());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource) || is_private[resource - plan.ranks]) continue;
    const std::uint32_t link = resource - plan.ranks;
    places[link].push_back(task);
    if (link >= network.routes.size()) continue;
    for (const std::uint32_t physical : network.routes[link]) {
      std::vector<TaskId>& place = places[plan.links.size() + physical];
      if (place.empty() || place.back() != task) place.push_back(task);  // a route may come twice
    }
  }
  for (std::vector<TaskId>& place : places) {
    std::stable_sort(place.begin(), place.end(), [&](TaskId a, TaskId b) {
      return run.timeline.begin[a] < run.timeline.begin[b];
    });
  }
  return places;
}

/// Leaves transfers no more slack than until the next of their place begins, or becomes ready after
/// them; none to those that meet.
void keep_apart(const ViewedRun& run, const std::vector<TaskId>& place,
                const std::vector<Time>& ready, std::vector<std::int64_t>& slack) {
  const auto begin = [&](std::size_t at) { return run.timeline.begin[place[at]]; };
  Time next_ready{INT64_MAX};
  for (std::size_t at = place.size(); at-- > 0;) {
    const TaskId task = place[at];
    const Time left = left_link_at(run, task);
    Time room = next_ready - ready[task];
    if (at + 1 < place.size()) room = std::min(room, begin(at + 1) - left);
    slack[task] = std::clamp<std::int64_t>(room.picoseconds, 0, slack[task]);
    const Time until = std::max(left, begin(at) + Time{1});  // one of no length may stand in line
    for (std::size_t met = at + 1; met < place.size() && begin(met) < until; ++met) {
      slack[place[met]] = 0;
    }
    next_ready = std::min(next_ready, ready[task]);
  }
}

/// When tasks could have begun: a simulated one begins as soon as it can, and a transfer that may
/// meet others gets in line once its inputs are there. A recorded one may have begun later than all
/// that it is known to wait for had ended, for launch or nobody knows why.
std::vector<Time> ready_times(const ViewedRun& run, const TasksByPlace& meeting) {
  const Timeline& timeline = run.timeline;
  if (run.layout != nullptr) {
    std::vector<Time> ready = timeline.begin;
    for (const std::vector<TaskId>& place : meeting) {
      for (const TaskId task : place) ready[task] = inputs_at(run, task);
    }
    return ready;
  }
  std::vector<Time> ready(run.plan.tasks());
  std::vector<Time> free(run.plan.resources());
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    ready[task] = std::exchange(free[run.plan.class_of(task).resource], timeline.end[task]);
    ready[task] = std::max(ready[task], inputs_at(run, task));
    const Time memory = time_in(timeline.memory_wait, task);
    ready[task] = std::min(ready[task] + memory, timeline.begin[task]);
  }
  return ready;
}

/// Leaves each task no more slack than what waits for it has, and the wait between them.
void pass_back(const ViewedRun& run, const std::vector<Time>& ready,
               std::vector<std::int64_t>& slack) {
  const Plan& plan = run.plan;
  const Timeline& timeline = run.timeline;
  std::vector<TaskId> behind(plan.resources(), no_task);
  TaskId fused = no_task;  // the second part of the cell that the next task begins
  const auto through = [&](TaskId before, Time free, TaskId after) {
    const std::int64_t wait = std::max<std::int64_t>(0, (ready[after] - free).picoseconds);
    slack[before] = std::min(slack[before], wait + slack[after]);
  };
  const auto through_inputs = [&](TaskId after) {
    plan.for_each_input(after, [&](TaskId input) { through(input, timeline.end[input], after); });
  };
  for (TaskId task = plan.tasks(); task-- > 0;) {
    const std::uint32_t resource = plan.class_of(task).resource;
    TaskId& next = behind[resource];
    if (next != no_task) {
      through(task, plan.is_link(resource) ? left_link_at(run, task) : timeline.end[task], next);
    }
    const TaskId second = std::exchange(fused, no_task);
    if (plan.class_of(task).follows_partner) {
      fused = task;  // begins with the task before it
      continue;
    }
    next = task;
    // The slack of a task is known here: all that follow it have higher numbers.
    if (second != no_task) {
      slack[task] = slack[second] = std::min(slack[task], slack[second]);
      through_inputs(second);
    }
    through_inputs(task);
  }
}

}  // namespace

bool has_slack(const ViewedRun& run) {
  if (run.file != nullptr || is_lanes(run)) return false;
  const bool decided = run.layout != nullptr && run.layout->policy != nullptr;
  return !decided && may_run_ahead(run.conditions);
}

bool knows_all_slack(const ViewedRun& run) {
  return run.layout != nullptr && has_slack(run) && run.plan.followers.empty() &&
         !why_not_relax(run.plan, run.conditions);
}

std::vector<float> slack_of(const ViewedRun& run) {
  const Plan& plan = run.plan;
  const Timeline& timeline = run.timeline;
  const std::int64_t end_of_run = makespan(plan, timeline).picoseconds;
  std::vector<std::int64_t> slack(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    slack[task] = end_of_run - timeline.end[task].picoseconds;
  }
  const TasksByPlace meeting = run.layout == nullptr ? TasksByPlace() : meeting_transfers(run);
  const std::vector<Time> ready = ready_times(run, meeting);
  for (const std::vector<TaskId>& place : meeting) keep_apart(run, place, ready, slack);
  // In a simulated one they may still wait for a launch.
  for (const PathStep& step : run.report.critical_path) {
    if (run.layout == nullptr) slack[step.task] = 0;
  }
  pass_back(run, ready, slack);
  std::vector<float> shares;
  shares.reserve(slack.size());
  const double whole = std::max(1.0, static_cast<double>(end_of_run));
  for (const std::int64_t own : slack) {
    shares.push_back(static_cast<float>(static_cast<double>(own) / whole));
  }
  return shares;
}

}  // namespace penstock
