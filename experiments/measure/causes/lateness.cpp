#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "experiments/measure/causes/causes.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

using Tasks = std::vector<TaskId>;

/// Steps that are ideal but for some of their tasks.
class Measuring {
 public:
  Measuring(const MeasuredStep& step, const OpModel& model)
      : plan_(*step.plan), replay_(step, model) {
    replay_.step(nothing_removed(plan_));
    measured_ = replay_.priced().costs;
    ideal_ = replay_.step(all_removed(plan_));
  }

  /// With those as measured that `chosen` names.
  template <class Chosen>
  Time step(Chosen chosen) {
    Tasks tasks;
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      if (chosen(task)) tasks.push_back(task);
    }
    return replay_.step_with(tasks, measured_);
  }
  /// With the tasks of each group as measured, over the ideal step; `group` tells a task's.
  template <class Group>
  std::vector<double> slowdowns(std::size_t groups, Group group) {
    std::vector<Tasks> tasks(groups);
    for (TaskId task = 0; task < plan_.tasks(); ++task) tasks[group(task)].push_back(task);
    std::vector<double> all;
    for (const Tasks& of_group : tasks) {
      const Time step = replay_.step_with(of_group, measured_);
      all.push_back(ideal_ > Time{} ? to_us(step) / to_us(ideal_) : 0);
    }
    return all;
  }
  /// The share of the loss that goes when these ranks are ideal.
  double explained(const std::set<std::uint32_t>& ranks, Time measured) {
    const double loss = to_us(measured - ideal_);
    const Time left =
        step([&](TaskId task) { return !ranks.contains(rank_of_task(plan_, task)); }) - ideal_;
    return loss > 0 ? 1 - to_us(left) / loss : 0;
  }

 private:
  const Plan& plan_;
  Replay replay_;  // the ideal step
  Costs measured_;
  Time ideal_{};
};

std::vector<Slowdown> by_pass(const Plan& plan, Measuring& measuring) {
  const auto factors = measuring.slowdowns(
      pass_count, [&](TaskId task) { return static_cast<std::size_t>(plan.class_of(task).pass); });
  std::set<Pass> passes;
  for (const std::uint32_t work : plan.work) passes.insert(plan.classes[work].pass);
  std::vector<Slowdown> all;
  for (const Pass pass : passes) {
    all.push_back({std::string(letters(pass)), factors[static_cast<std::size_t>(pass)]});
  }
  std::ranges::stable_sort(all, std::greater{}, &Slowdown::factor);
  return all;
}

/// Of groups of ranks; `group` tells a rank's.
template <class Group>
std::vector<Slowdown> by_group(const char* word, std::uint32_t groups, const Plan& plan,
                               Measuring& measuring, Group group) {
  const auto factors =
      measuring.slowdowns(groups, [&](TaskId task) { return group(rank_of_task(plan, task)); });
  std::vector<Slowdown> all;
  for (std::uint32_t number = 0; number < groups; ++number) {
    all.push_back({fmt::format("{} {}", word, number), factors[number]});
  }
  return all;
}

/// The ranks with the largest slowdowns.
std::set<std::uint32_t> slowest_of(const std::vector<double>& ranks, std::uint32_t count) {
  std::vector<std::uint32_t> order(ranks.size());
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) order[rank] = rank;
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t rank) { return ranks[rank]; });
  return {order.begin(), order.begin() + count};
}

/// A twentieth of the mean action: less is not worth a name.
Time least_excess(const MeasuredStep& step) {
  double sum = 0;
  std::uint32_t actions = 0;
  for (TaskId task = 0; task < step.plan->tasks(); ++task) {
    if (!runs_layers(step.plan->class_of(task).pass)) continue;
    sum += to_us(step.length(task));
    ++actions;
  }
  return from_us(0.05 * sum / std::max(actions, 1U));
}

/// The first op that takes or starts notably longer than usual.
std::optional<LateRank> first_unusual(const MeasuredStep& step, const OpModel& model,
                                      const Replay& replay, const Removal& usual) {
  const Plan& plan = *step.plan;
  const Removal nothing = nothing_removed(plan);
  const Time least = least_excess(step);
  const double share = std::max(0.1, 4 * model.jitter);
  std::optional<LateRank> first;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (first && step.begin[task] >= first->at) continue;
    const Time normal = replay.length(task, usual);
    const Time excess = replay.length(task, nothing) - normal;
    if (excess <= least || to_us(excess) <= share * to_us(normal)) continue;
    first = {
        .rank = rank_of_task(plan, task), .op = task, .at = step.begin[task], .excess = excess};
  }
  return first;
}

/// Ranks with an op that begins earlier in `without` than in `as_measured`.
std::vector<DelayedRank> delayed(const MeasuredStep& step, const Timeline& as_measured,
                                 const Timeline& without, std::uint32_t rank) {
  const Plan& plan = *step.plan;
  std::vector<std::optional<DelayedRank>> first(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t other = plan.class_of(task).resource;
    if (plan.is_link(other) || other == rank) continue;
    // An action's gap is a part of its length, so its end says when it was ready.
    const Time late = as_measured.end[task] - without.end[task];
    if (late <= Time{} || (first[other] && first[other]->at <= step.begin[task])) continue;
    first[other] = {.rank = other, .op = task, .at = step.begin[task], .late = late};
  }
  std::vector<DelayedRank> all;
  for (const auto& one : first) {
    if (one) all.push_back(*one);
  }
  std::ranges::stable_sort(all, {}, &DelayedRank::at);
  return all;
}

}  // namespace

Slowdowns slowdowns_of(const MeasuredStep& step, const OpModel& model) {
  const Plan& plan = *step.plan;
  const RankGroups& groups = model.groups;
  Measuring measuring(step, model);
  Slowdowns slowdowns;
  slowdowns.passes = by_pass(plan, measuring);
  slowdowns.positions = by_group("position", groups.positions, plan, measuring,
                                 [&](std::uint32_t rank) { return groups.ranks[rank].position; });
  slowdowns.replicas = by_group("replica", groups.pipelines, plan, measuring,
                                [&](std::uint32_t rank) { return groups.ranks[rank].pipeline; });
  for (const RankPlace& place : groups.ranks) {
    slowdowns.ranks.push_back(std::min(slowdowns.positions[place.position].factor,
                                       slowdowns.replicas[place.pipeline].factor));
  }
  slowdowns.slowest = std::max(1U, plan.ranks * 3 / 100);
  slowdowns.explained =
      measuring.explained(slowest_of(slowdowns.ranks, slowdowns.slowest), step.makespan);
  return slowdowns;
}

std::optional<LateRank> first_late(const MeasuredStep& step, const OpModel& model) {
  const Plan& plan = *step.plan;
  Removal usual = all_removed(plan);
  usual.stages.assign(usual.stages.size(), false);
  usual.collectives = usual.microbatches = usual.replicas = false;
  Replay replay(step, model);
  auto late = first_unusual(step, model, replay, usual);
  if (!late) return late;
  const Time before = replay.step(nothing_removed(plan));
  const Timeline as_measured = replay.timeline();
  const Time after =
      replay.step(usual, [&](TaskId task) { return rank_of_task(plan, task) == late->rank; });
  late->cost = before - after;
  late->waiting = delayed(step, as_measured, replay.timeline(), late->rank);
  return late;
}

}  // namespace penstock
