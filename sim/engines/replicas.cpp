#include "sim/engines/replicas.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engines/events.hpp"

namespace penstock {
namespace {

/// Draws and runs of all replicas. The plan has the costs of the current one.
struct Draws {
  PricedPlan running;
  std::vector<Costs> undrawn;  // of each replica, or of all
  Chance chance;
  std::uint32_t number;
  std::uint32_t replicas;
  Time longest{};             // of those that ran alone
  std::uint32_t slowest = 0;  // the first of equals

  void add_alone(std::uint32_t replica, Time own) {
    if (own <= longest) return;
    longest = own;
    slowest = replica;
  }
  void draw_costs(std::uint32_t replica) {
    Chance own = chance;
    own.replica = replica;
    running.costs = draw(running.plan, undrawn[undrawn.size() == 1 ? 0 : replica], own, number);
  }
};

/// Waits are added to the latencies of tasks.
void list_tasks(const Plan& plan, Costs& costs) {
  if (!costs.task_latency.empty()) return;
  std::vector<Time> durations, latencies;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    durations.push_back(costs.duration_of(plan, task));
    latencies.push_back(costs.latency_of(plan, task));
  }
  costs.task_duration = std::move(durations);
  costs.task_latency = std::move(latencies);
}

/// The tasks that satisfy `test`.
template <class Test>
std::vector<TaskId> tasks_of(const Plan& plan, Test test) {
  std::vector<TaskId> tasks;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (test(task)) tasks.push_back(task);
  }
  return tasks;
}

/// Whether a task gathers weights after their update. What an UNSHARD gathers does not wait for
/// other replicas here.
bool gathers_new_weights(const Plan& plan, TaskId task) {
  const TaskId input = plan.input[task];
  return plan.class_of(task).pass == Pass::gather_weights && input < Plan::several &&
         plan.class_of(input).pass == Pass::update;
}

/// When all inputs of a task in its own replica have arrived.
Time ready_at(const Plan& plan, const Timeline& timeline, TaskId task) {
  Time ready{};
  plan.for_each_input(task, [&](TaskId input) { ready = std::max(ready, timeline.end[input]); });
  return ready;
}

/// Tasks that all replicas do together, and when each replica is ready for them.
struct Together {
  std::vector<TaskId> tasks;
  std::vector<Time> latest;  // by joint task: the latest over all replicas

  explicit Together(std::vector<TaskId> all) : tasks(std::move(all)), latest(tasks.size()) {}

  void add_replica(const Plan& plan, const Timeline& timeline) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      latest[i] = std::max(latest[i], ready_at(plan, timeline, tasks[i]));
    }
  }
};

/// Makes a replica wait for the others, given its run without waits. On each link the first to
/// start also ends first.
void wait_together(const Together& together, const Timeline& alone, PricedPlan& priced) {
  auto& [plan, costs, conditions] = priced;
  list_tasks(plan, costs);
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

/// Costs with the waits for reductions, and with those for all-gathers where their times are known.
RunOutcome run_with_sums(const Together& sums, PricedPlan& priced, Timeline reused) {
  RunOutcome alone = simulate(priced, std::move(reused));
  if (std::holds_alternative<Standstill>(alone)) return alone;
  wait_together(sums, std::get<Timeline>(alone), priced);
  return simulate(priced, std::get<Timeline>(std::move(alone)));
}

/// Calls `run(timeline)`, which returns its outcome, for each replica, and collects the latest
/// ready times.
template <class Run>
std::optional<Standstill> add_up_replicas(Draws& draws, Together& together, Run run) {
  Timeline timeline;
  for (std::uint32_t replica = 0; replica < draws.replicas; ++replica) {
    draws.draw_costs(replica);
    RunOutcome outcome = run(std::move(timeline));
    if (auto* halt = std::get_if<Standstill>(&outcome)) return std::move(*halt);
    timeline = std::get<Timeline>(std::move(outcome));
    together.add_replica(draws.running.plan, timeline);
  }
  return std::nullopt;
}

std::optional<Standstill> find_sums(Draws& draws, Together& sums) {
  std::uint32_t replica = 0;
  return add_up_replicas(draws, sums, [&](Timeline reused) {
    RunOutcome outcome = simulate(draws.running, std::move(reused));
    const auto* alone = std::get_if<Timeline>(&outcome);
    if (alone != nullptr) draws.add_alone(replica++, makespan(draws.running.plan, *alone));
    return outcome;
  });
}

std::optional<Standstill> find_gatherings(Draws& draws, const Together& sums,
                                          Together& gatherings) {
  if (gatherings.tasks.empty()) return std::nullopt;
  return add_up_replicas(draws, gatherings, [&](Timeline reused) {
    return run_with_sums(sums, draws.running, std::move(reused));
  });
}

}  // namespace

std::variant<PricedPlan, Standstill> draw_among_replicas(PricedPlan priced, const Chance& chance,
                                                         std::uint32_t number,
                                                         std::uint32_t replicas,
                                                         const CostsOfReplica& costs_of) {
  std::vector<Costs> undrawn;
  const std::uint32_t drawn = std::min(replicas, most_drawn_replicas);
  for (std::uint32_t replica = 0; costs_of && replica < drawn; ++replica) {
    undrawn.push_back(costs_of(replica));
  }
  if (!costs_of) undrawn.push_back(std::move(priced.costs));
  Draws draws{std::move(priced), std::move(undrawn), chance, number, drawn};
  draws.draw_costs(0);
  const bool differ = costs_of || chance.differs_among_replicas();
  if (drawn == 1 || !differ) return std::move(draws.running);
  const Plan& plan = draws.running.plan;
  Together sums(
      tasks_of(plan, [&](TaskId task) { return reduces_gradient(plan.class_of(task).pass); }));
  Together gatherings(tasks_of(plan, [&](TaskId task) { return gathers_new_weights(plan, task); }));
  if (sums.tasks.empty() && !costs_of) return std::move(draws.running);
  if (auto halt = find_sums(draws, sums)) return *std::move(halt);
  if (auto halt = find_gatherings(draws, sums, gatherings)) return *std::move(halt);
  draws.draw_costs(costs_of ? draws.slowest : 0);
  if (sums.tasks.empty()) return std::move(draws.running);
  RunOutcome outcome = run_with_sums(sums, draws.running, {});
  if (auto* halt = std::get_if<Standstill>(&outcome)) return std::move(*halt);
  wait_together(gatherings, std::get<Timeline>(outcome), draws.running);
  check_clock(draws.running.plan, draws.running.costs, "/chance");
  return std::move(draws.running);
}

}  // namespace penstock
