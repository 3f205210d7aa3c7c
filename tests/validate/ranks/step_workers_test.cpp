#include "validate/ranks/step_workers.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "sim/base/named.hpp"
#include "sim/engines/events.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/replays.hpp"
#include "validate/backends/registry.hpp"
#include "validate/comparison/counted_memory.hpp"
#include "validate/job/run_errors.hpp"

namespace penstock::testing {
namespace {

std::uint64_t peak_of(const PricedPlan& priced) {
  return std::ranges::max(peaks_of(priced, relax({priced.plan, priced.costs, {}})));
}

Network shared_by_all(const Plan& plan) {
  Network network{.links = {{"spine", 2e9, 0}}, .routes = {}, .sharing = Sharing::fair};
  if (one_in(2)) network.sharing = Sharing::fifo;
  for (std::size_t link = 0; link < plan.links.size(); ++link) {
    network.routes.push_back(one_in(2) ? Route{0} : Route{});
  }
  return network;
}

/// At least one condition under which ranks act on each other.
PricedPlan under_random_conditions() {
  PricedPlan drawn = priced(random_system());
  Conditions& conditions = drawn.conditions;
  if (one_in(3)) conditions.network = shared_by_all(drawn.plan);
  if (one_in(2)) conditions.stall_above_bytes = peak_of(drawn) * from_to(5, 11) / 10;
  conditions.rendezvous = one_in(3);
  conditions.blocking_sends = one_in(3);
  conditions.sends_in_flight = below(3);
  conditions.receives_in_flight = below(3);
  if (one_in(4)) conditions.compute_slowdown = 1.5;
  if (one_in(4)) conditions.transfer_slowdown = 1.25;
  if (may_run_ahead(conditions)) conditions.sends_in_flight = UINT32_MAX;
  if (one_in(4)) {
    drawn.costs.issue = from_us(0.1 * from_to(0, 20));
    drawn.costs.launch = from_us(0.1 * from_to(0, 20));
  }
  return drawn;
}

/// The most transfers that a rank sends or receives at one moment.
std::size_t most_in_flight(const Plan& plan, const Timeline& timeline, Rank rank, bool sends) {
  std::vector<std::pair<Time, int>> changes;  // ends before begins
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource)) continue;
    const Link& link = plan.link(resource);
    if ((sends ? link.from : link.to) != rank || timeline.begin[task] == timeline.end[task])
      continue;
    changes.emplace_back(timeline.begin[task], 1);
    changes.emplace_back(timeline.end[task], -1);
  }
  std::sort(changes.begin(), changes.end());
  int now = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return static_cast<std::size_t>(most);
}

/// Whether each rank waited until what its action sends had left, and each transfer for its reader.
void check_waits(const PricedPlan& priced, const Timeline& timeline) {
  const auto& [plan, costs, conditions] = priced;
  const ResourceOrders orders = resource_orders(plan);
  std::vector<TaskId> before(plan.tasks(), no_task), behind(plan.tasks(), no_task);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    for (std::uint32_t at = orders.first[rank] + 1; at < orders.first[rank + 1]; ++at) {
      before[orders.tasks[at]] = orders.tasks[at - 1];
      behind[orders.tasks[at - 1]] = orders.tasks[at];
    }
  }
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool moves = plan.is_link(plan.class_of(task).resource);
    plan.for_each_input(task, [&, task = task](TaskId input) {
      const bool sent = moves && passes_on(plan.class_of(task).pass);
      TaskId next = sent ? behind[input] : no_task;
      while (next != no_task && plan.class_of(next).follows_partner) next = behind[next];
      if (priced.conditions.blocking_sends && next != no_task) {
        RC_ASSERT(timeline.begin[next] >= timeline.end[task] - priced.costs.latency_of(plan, task));
      }
      const bool reads = !moves && before[task] != no_task && passes_on(plan.class_of(input).pass);
      if (priced.conditions.rendezvous && reads) {
        RC_ASSERT(timeline.begin[input] >= timeline.end[before[task]]);
      }
    });
  }
}

/// The rules that the engine follows, checked on a timeline apart from it.
void check_rules(const PricedPlan& priced, const Timeline& timeline) {
  const auto& [plan, costs, conditions] = priced;
  if (conditions.stall_above_bytes) {
    for (const std::uint64_t held : counted_memory_peaks(plan, costs, timeline)) {
      RC_ASSERT(held <= *conditions.stall_above_bytes);
    }
  }
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    for (const bool sends : {true, false}) {
      const std::uint32_t most = conditions.most_in_flight(sends);
      RC_ASSERT(most == 0 || most_in_flight(plan, timeline, Rank{rank}, sends) <= most);
    }
  }
  check_waits(priced, timeline);
}

/// Runs the plan; whether it ran to its end.
bool runs_as_simulated(PricedPlan plan) {
  const bool waits = plan.conditions.stall_above_bytes || plan.conditions.rendezvous;
  const Job job = penstock::job_of(std::move(plan), {.mean_action_ns = 1'000, .least_work_ns = 0});
  const auto outcome = cpu_logical().make(job)->run();
  if (const auto* halt = std::get_if<Standstill>(&outcome)) {
    // Actions take other times than asked, so the wrong tensors may come first.
    RC_ASSERT(halt->kind == "deadlock");
    RC_ASSERT(waits);
    return false;
  }
  const Timeline& timeline = std::get<Timeline>(outcome);
  RC_ASSERT(differences(job, timeline) == 0U);
  check_rules(job.priced, timeline);
  if (why_not_relax(job.priced.plan, job.priced.conditions) &&
      job.priced.conditions.sends_in_flight == UINT32_MAX &&
      job.priced.conditions.network.links.empty()) {
    PricedPlan free = with_lengths(job, timeline);
    free.conditions = {};
    if (!why_not_relax(free.plan, {})) RC_ASSERT(differences(relax(free), timeline) == 0U);
  }
  return true;
}

/// A job of two ranks in which F takes 1 us, B 2 us and a transfer 4 us, all times `job.scale`.
Job with_slow_links(const char* order, const Conditions& conditions) {
  System system = two_stages(order);
  system.hardware = link(0, 1.024e9);
  PricedPlan plan = priced(system);
  plan.conditions = conditions;
  return penstock::job_of(std::move(plan), {.mean_action_ns = 40'000, .least_work_ns = 0});
}

Time begin_of(const Job& job, const Timeline& timeline, const char* task) {
  return timeline.begin[task_of(job.priced.plan, task)];
}
Time end_of(const Job& job, const Timeline& timeline, const char* task) {
  return timeline.end[task_of(job.priced.plan, task)];
}

constexpr const char* both_ways = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

}  // namespace

// A thousand plans of ranks that wait for memory, meet for a transfer, wait for their sends, have
// few transfers at a time or slow each other down, several of these together, also over links that
// they share. The engine that starts the steps is the simulator's, so what its rules demand is also
// checked on the timelines by themselves, and against the longest path where that applies.
TEST_CASE("cpu_logical: a thousand random plans whose ranks act on each other run as simulated") {
  std::uint32_t ran = 0, tried = 0;
  CHECK(rc::check([&] {
    for (int number = 0; number < 12; ++number) {
      PricedPlan plan = under_random_conditions();
      if (!takes_time(plan)) continue;
      if (!std::holds_alternative<Timeline>(simulate(plan))) continue;
      RC_ASSERT(!cpu_logical().obstacle(plan));
      ++tried;
      if (runs_as_simulated(std::move(plan))) ++ran;
    }
  }));
  CHECK(ran >= tried - tried / 50);
}

TEST_CASE("cpu_logical: with rendezvous a tensor leaves when its reader waits for it") {
  const Job job = with_slow_links(both_ways, {.rendezvous = true});
  const Timeline timeline = logical_run(job);
  // Rank 1 runs 1B0 before it wants the second activation.
  CHECK(begin_of(job, timeline, "0SEND_F1") >= end_of(job, timeline, "1B0"));
  CHECK(differences(job, timeline) == 0);
}

TEST_CASE("cpu_logical: with blocking sends a rank goes on when its tensors have left") {
  const Job job = with_slow_links(both_ways, {.blocking_sends = true});
  const Timeline timeline = logical_run(job);
  CHECK(begin_of(job, timeline, "0F1") == end_of(job, timeline, "0SEND_F0"));
  CHECK(differences(job, timeline) == 0);
}

// A free link in each direction, and one transfer of a rank at a time.
TEST_CASE("cpu_logical: a rank sends no more tensors at a time than its limit in flight") {
  System system{Placement::given(3, {{Rank{0}}, {Rank{1}}, {Rank{0}}, {Rank{2}}},
                                 {{Stage{0}, Stage{1}}, {Stage{2}, Stage{3}}}),
                order_of("0F0,2F1\n1F0\n3F1\n"),
                {stage_of(1, 2), stage_of(1, 2)},
                link(0, 1e9)};
  for (Layer& stage : system.stages) stage.activation_bytes = 8000;
  PricedPlan plan = priced(system);
  plan.conditions.sends_in_flight = plan.conditions.receives_in_flight = 1;
  const Job job = penstock::job_of(std::move(plan), {.mean_action_ns = 40'000, .least_work_ns = 0});
  const Timeline timeline = logical_run(job);
  CHECK(begin_of(job, timeline, "2SEND_F1") == end_of(job, timeline, "0SEND_F0"));
  CHECK(differences(job, timeline) == 0);
}

// Rank 0 has room for one activation, so its second F waits for the first B.
TEST_CASE("cpu_logical: an action waits until its rank has memory for it") {
  System system = two_stages("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  system.schedule = order_of("0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n");
  for (Layer& stage : system.stages) stage.stash_bytes = 100;
  PricedPlan plan = priced(system);
  plan.conditions.stall_above_bytes = 100 + 4096;
  const Job fits = penstock::job_of(plan, {.mean_action_ns = 4'000, .least_work_ns = 0});
  const Timeline timeline = logical_run(fits);
  CHECK(differences(fits, timeline) == 0);
  // The tensor of the second microbatch needs the room that 1F0 gives back.
  plan.conditions.stall_above_bytes = 99;
  const Job never = penstock::job_of(plan, {.mean_action_ns = 4'000, .least_work_ns = 0});
  const Standstill halt = halt_of(never);
  CHECK(halt.kind == "deadlock");
  CHECK(halt.text.find("0F0 waits for memory of rank 0") != std::string::npos);
}

TEST_CASE("real time and several processes refuse ranks that wait for each other") {
  PricedPlan plan = priced(two_stages(both_ways));
  plan.conditions.rendezvous = true;
  const auto obstacle = find_named(backend_entries(), "cpu_timed")->obstacle(plan);
  REQUIRE(obstacle);
  CHECK_FALSE(obstacle->of_machine);
  CHECK(
      obstacle->text ==
      "transfers that wait for their receiver (/hardware/transfers/rendezvous); cpu_logical does, "
      "in one process");
}

}  // namespace penstock::testing
