#include "sim/engines/replicas.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace penstock {
namespace {

/// What is drawn and run for each replica.
struct Draws {
  const Plan& plan;
  const Costs& costs;
  const Conditions& conditions;
  Chance chance;
  std::uint32_t number;
  std::uint32_t replicas;

  Costs of(std::uint32_t replica) const {
    Chance own = chance;
    own.replica = replica;
    return draw(plan, costs, own, number);
  }
};

std::vector<TaskId> tasks_of(const Plan& plan, Pass pass) {
  std::vector<TaskId> tasks;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).pass == pass) tasks.push_back(task);
  }
  return tasks;
}

/// When all that a task waits for in its own replica is there.
Time ready_at(const Plan& plan, const Timeline& timeline, TaskId task) {
  Time ready{};
  plan.for_each_input(task, [&](TaskId input) { ready = std::max(ready, timeline.end[input]); });
  return ready;
}

/// What all replicas do at once, and since when each of them is ready for it.
struct Together {
  std::vector<TaskId> tasks;
  std::vector<Time> latest;  // by task of these: over all replicas

  explicit Together(std::vector<TaskId> all) : tasks(std::move(all)), latest(tasks.size()) {}

  void add_replica(const Plan& plan, const Timeline& timeline) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      latest[i] = std::max(latest[i], ready_at(plan, timeline, tasks[i]));
    }
  }
};

/// Lets a replica, whose run without waits is known, wait for the others. On each link what comes
/// first also ends first.
void wait_together(const Plan& plan, const Together& together, const Timeline& alone,
                   Costs& costs) {
  std::vector<std::size_t> order(together.tasks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return alone.begin[together.tasks[a]] < alone.begin[together.tasks[b]];
  });
  std::vector<Time> free(plan.links.size());
  for (const std::size_t i : order) {
    const TaskId task = together.tasks[i];
    Time& link_free = free[plan.class_of(task).resource - plan.ranks];
    const Time begin = alone.begin[task];
    const Time start = std::max({begin, together.latest[i], link_free});
    link_free = start + (alone.end[task] - costs.latency_of(plan, task) - begin);
    costs.task_latency[task] += start - begin;
  }
}

/// Costs with the waits for sums, and with those for gatherings where their times are known.
std::optional<Standstill> run_with_sums(const Draws& draws, const Together& sums, Costs& costs,
                                        Timeline& timeline) {
  if (auto halt = simulate(draws.plan, costs, draws.conditions, timeline)) return halt;
  wait_together(draws.plan, sums, timeline, costs);
  return simulate(draws.plan, costs, draws.conditions, timeline);
}

std::optional<Standstill> find_sums(const Draws& draws, Together& sums) {
  Timeline timeline;
  for (std::uint32_t replica = 0; replica < draws.replicas; ++replica) {
    if (auto halt = simulate(draws.plan, draws.of(replica), draws.conditions, timeline))
      return halt;
    sums.add_replica(draws.plan, timeline);
  }
  return std::nullopt;
}

std::optional<Standstill> find_gatherings(const Draws& draws, const Together& sums,
                                          Together& gatherings) {
  if (gatherings.tasks.empty()) return std::nullopt;
  Timeline timeline;
  for (std::uint32_t replica = 0; replica < draws.replicas; ++replica) {
    Costs costs = draws.of(replica);
    if (auto halt = run_with_sums(draws, sums, costs, timeline)) return halt;
    gatherings.add_replica(draws.plan, timeline);
  }
  return std::nullopt;
}

}  // namespace

std::variant<Costs, Standstill> draw_among_replicas(const Plan& plan, const Costs& costs,
                                                    const Conditions& conditions,
                                                    const Chance& chance, std::uint32_t number,
                                                    std::uint32_t replicas) {
  const Draws draws{plan,   costs,  conditions,
                    chance, number, std::min(replicas, most_drawn_replicas)};
  Costs first = draws.of(0);
  if (draws.replicas == 1 || !chance.differs_among_replicas()) return first;
  Together sums(tasks_of(plan, Pass::reduce_gradient));
  Together gatherings(tasks_of(plan, Pass::gather_weights));
  if (sums.tasks.empty()) return first;
  if (auto halt = find_sums(draws, sums)) return std::move(*halt);
  if (auto halt = find_gatherings(draws, sums, gatherings)) return std::move(*halt);
  Timeline timeline;
  if (auto halt = run_with_sums(draws, sums, first, timeline)) return std::move(*halt);
  wait_together(plan, gatherings, timeline, first);
  check_clock(plan, first, "/chance");
  return first;
}

}  // namespace penstock
