#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/costs/chance.hpp"
#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/replays.hpp"
#include "validate/job/replica_ranks.hpp"

namespace penstock::testing {
namespace {

/// One to three links; each pair of ranks goes over some of them, or over none that others use.
Network random_network(const Plan& plan) {
  Network network{.sharing = one_in(2) ? Sharing::fifo : Sharing::fair};
  const std::uint32_t links = from_to(1, 3);
  for (std::uint32_t link = 0; link < links; ++link) {
    network.links.push_back({"", 1e9 * from_to(1, 4), 0});
  }
  for (std::size_t pair = 0; pair < plan.links.size(); ++pair) {
    Route& route = network.routes.emplace_back();
    for (std::uint32_t link = 0; link < links; ++link) {
      if (one_in(2)) route.push_back(link);
    }
  }
  return network;
}

Chance random_chance() {
  Chance chance{.seed = from_to(1, 1000)};
  if (one_in(2)) chance.jitter = 0.3;
  if (one_in(2)) chance.transfer_jitter = 0.3;
  if (one_in(3)) chance.stragglers.push_back({Rank{0}, 2.5});
  return chance;
}

PricedPlan random_plan() {
  PricedPlan drawn = priced(random_system());
  if (one_in(2)) drawn.conditions.network = random_network(drawn.plan);
  if (one_in(3)) {
    drawn.costs.issue = from_us(0.1 * from_to(0, 20));
    drawn.costs.launch = from_us(0.1 * from_to(0, 20));
  }
  if (one_in(3)) drawn.costs = draw(drawn.plan, drawn.costs, random_chance(), 0);
  return drawn;
}

/// For RapidCheck: a plan that takes time runs, to the picosecond as it is simulated.
void assert_runs_as_simulated(PricedPlan plan) {
  if (!takes_time(plan)) return;
  const auto obstacle = cpu_logical().obstacle(plan);
  RC_ASSERT(!obstacle);
  const Job job = job_of(std::move(plan), {.mean_action_ns = 1'000, .least_work_ns = 0});
  const auto outcome = cpu_logical().make(job)->run();
  RC_ASSERT(std::holds_alternative<Timeline>(outcome));
  RC_ASSERT(differences(job, std::get<Timeline>(outcome)) == 0);
}

/// Ranks of one machine whose tensors all cross one link.
Job job_over_one_link(const char* schedule, Sharing sharing) {
  const System system = system_of(schedule, 4, 8);
  return job_of(over_one_link(priced(system), sharing), quick);
}

}  // namespace

// A thousand plans: any order over any placement, with fused cells, recomputation, reductions
// beside and behind stages, gathers, updates and tied weights; links that ranks share, first come
// first served or fairly; launches; chance.
TEST_CASE("cpu_logical: a thousand random plans run to the picosecond as they are simulated") {
  CHECK(rc::check([] {
    for (int number = 0; number < 10; ++number) assert_runs_as_simulated(random_plan());
  }));
}

// RECVs anywhere, in any kind of stream; gathers and reductions where the order has them; links
// that ranks share or that overtake each other's tensors among them, whose steps the engine starts.
TEST_CASE("cpu_logical: a thousand plans with written communication run as they are simulated") {
  CHECK(rc::check([] {
    for (int number = 0; number < 10; ++number) {
      System system = random_system({.recompute = false});
      write_communication(system);
      const auto lowered = lower(system.schedule, system.placement, system.overlap, system.extras);
      if (std::holds_alternative<Deadlock>(lowered)) continue;
      PricedPlan plan = priced(system);
      if (one_in(4)) plan.conditions.network = random_network(plan.plan);
      assert_runs_as_simulated(std::move(plan));
    }
  }));
}

TEST_CASE("cpu_logical: every schedule runs over one link that all ranks share") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    for (const Sharing sharing : {Sharing::fifo, Sharing::fair}) {
      CAPTURE(entry->name);
      const Job job = job_over_one_link(entry->name.data(), sharing);
      REQUIRE_FALSE(cpu_logical().obstacle(job.priced));
      const Timeline timeline = logical_run(job);
      CHECK(differences(job, timeline) == 0);
    }
  }
}

// The spine carries one tensor at a time in fifo order, whoever sends it.
TEST_CASE("cpu_logical: tensors that share a link in fifo order do not overlap") {
  const Job job = job_over_one_link("gpipe", Sharing::fifo);
  const Timeline timeline = logical_run(job);
  std::vector<std::pair<Time, Time>> held;
  for (TaskId task = 0; task < job.priced.plan.tasks(); ++task) {
    if (!job.priced.plan.is_link(job.priced.plan.class_of(task).resource)) continue;
    const Time left = timeline.end[task] - job.priced.costs.latency_of(job.priced.plan, task);
    held.emplace_back(timeline.begin[task], left);
  }
  std::sort(held.begin(), held.end());
  REQUIRE(held.size() > 20);
  for (std::size_t i = 1; i < held.size(); ++i) CHECK(held[i].first >= held[i - 1].second);
}

// The host issues an action every 2 us, and each starts 3 us after its issue at the earliest: 0F0
// at 5 us times the scale, 0F1 at 7.
TEST_CASE("cpu_logical: an action waits for its launch") {
  PricedPlan plan = priced(two_stages("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n"));
  plan.costs.issue = from_us(2);
  plan.costs.launch = from_us(3);
  const Job job = job_of(std::move(plan), quick);
  const Timeline timeline = logical_run(job);
  const Time issue = job.priced.costs.issue;
  const Time launch = job.priced.costs.launch;
  CHECK(to_us(issue) == doctest::Approx(2 * job.scale).epsilon(1e-3));
  const TaskId first = task_of(job.priced.plan, "0F0");
  const TaskId second = task_of(job.priced.plan, "0F1");
  CHECK(timeline.begin[first] == issue + launch);
  CHECK(timeline.begin[second] == std::max(timeline.end[first], issue + issue + launch));
  CHECK(differences(job, timeline) == 0);
}

// One rank: L asks for the activation while E's transfer is under way, which takes 4 us at 1 GB/s.
TEST_CASE("cpu_logical: a return leaves when its eviction has arrived") {
  System system{Placement::loop(1, 1), Schedule(1), {stage_of(1, 2)}, link(0, 1e9)};
  system.stages.front().stash_bytes = 4000;
  system.schedule.on(Rank{0}) = actions_of("0F0 0E0 0L0 0F1 0B0 0B1");
  const Job job = job_of(system);
  const Timeline timeline = logical_run(job);
  const TaskId out = task_of(job.priced.plan, "0SEND_E0");
  const TaskId back = task_of(job.priced.plan, "0SEND_L0");
  CHECK(timeline.begin[back] == timeline.end[out]);
  CHECK(timeline.end[task_of(job.priced.plan, "0L0")] < timeline.end[out]);
  CHECK(differences(job, timeline) == 0);
}

// The host launches an action every 30 us, far later than its rank is free. Buckets that are full
// before the last backward do not wait for its launch.
TEST_CASE("cpu_logical: an early reduction leaves when its rank is free, before the launch") {
  System system = a_stage_each("0F0,0B0", {stage_of(1, 2)}, link(0, 1e6));
  system.stages.front().parameter_bytes = 4;
  system.extras.tail = {.reduces = {true}, .early = {true}, .updates = true};
  system.training = {.data = 2, .buckets = {2}, .optimizer_us = 1};
  PricedPlan plan = priced(system);
  plan.costs.issue = from_us(30);
  const Job job = job_of(std::move(plan), quick);
  const Timeline timeline = logical_run(job);
  const TaskId early = task_of(job.priced.plan, "0REDUCE_EARLY0");
  const TaskId backward = task_of(job.priced.plan, "0B0");
  CHECK(timeline.begin[early] == timeline.end[task_of(job.priced.plan, "0F0")]);
  CHECK(timeline.begin[early] < timeline.begin[backward]);
  CHECK(differences(job, timeline) == 0);
}

TEST_CASE("cpu_logical: the parts of a fused cell run as one") {
  System fused = two_stages("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  fused.schedule = order_of("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n");
  fused.overlap = Overlap::fused;
  const Job job = job_of(fused);
  REQUIRE_FALSE(cpu_logical().obstacle(job.priced));
  const Timeline timeline = logical_run(job);
  const TaskId first = task_of(job.priced.plan, "0F1");
  const TaskId second = task_of(job.priced.plan, "0B0");
  CHECK(timeline.begin[second] == timeline.begin[first]);
  CHECK(timeline.end[second] == timeline.end[first]);
  CHECK(timeline.end[first] > timeline.begin[first]);
  CHECK(differences(job, timeline) == 0);
}

// Both ranks hold the stage; rank 1 is three times as slow. Each updates when the gradients of both
// have arrived.
TEST_CASE("cpu_logical: an update waits for the gradients of every rank that holds its stage") {
  System system{Placement::given(2, {{Rank{0}, Rank{1}}}, {{Stage{0}}}),
                order_of("0F0,0B0\n0F1,0B1\n"),
                {stage_of(1, 2)},
                link(1, 1e9)};
  system.stages.front().parameter_bytes = 1000;
  system.extras.tail = {.reduces = {true}, .updates = true, .across_ranks = true};
  system.training.optimizer_us = 1;
  PricedPlan plan = priced(system);
  plan.costs = draw(plan.plan, plan.costs, {.stragglers = {{Rank{1}, 3}}}, 0);
  const Job job = job_of(std::move(plan), quick);
  REQUIRE_FALSE(cpu_logical().obstacle(job.priced));
  const Timeline timeline = logical_run(job);
  const auto end = [&](const char* task) { return timeline.end[task_of(job.priced.plan, task)]; };
  const Time all = std::max(end("0REDUCE0"), end("0REDUCE1"));
  CHECK(timeline.begin[task_of(job.priced.plan, "0U0")] == all);
  CHECK(timeline.begin[task_of(job.priced.plan, "0U1")] == all);
  CHECK(differences(job, timeline) == 0);
}

// Draws depend on the seed alone: the same factors for the actions that really run.
TEST_CASE("cpu_logical: what chance makes slower is busy for longer") {
  PricedPlan plan = priced(two_stages("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n"));
  plan.costs = draw(plan.plan, plan.costs, {.stragglers = {{Rank{1}, 8}}}, 0);
  const Job job = job_of(std::move(plan), {.mean_action_ns = 300'000});
  const Timeline timeline = logical_run(job);
  const auto length = [&](const char* text) {
    const TaskId task = task_of(job.priced.plan, text);
    return timeline.end[task] - timeline.begin[task];
  };
  CHECK(length("1F0") > length("0F0") + length("0F0"));
  CHECK(length("1B1") > length("0B1") + length("0B1"));
}

// One rank of each replica: F of 1 us, B of 2 us, a sum of 4 us over two replicas. Replica 1 is
// twice as slow, so its gradient is there at 6, both sums at 10, and the update ends at 11.
TEST_CASE("data replicas are ranks, and an update waits for the sums of all of them") {
  Layer stage{.forward_us = 1, .backward_us = 2, .parameter_bytes = 4};
  System system = a_stage_each("0F0,0B0", {stage}, link(0, 1e6));
  system.extras.tail = {.reduces = {true}, .updates = true};
  system.training = {.data = 2, .optimizer_us = 1};
  const PricedPlan one = priced(system);
  Straggler slow{Rank{0}, 2};
  slow.replica = 1;
  Chance chance{.stragglers = {slow}};
  std::vector<Costs> costs;
  for (chance.replica = 0; chance.replica < 2; ++chance.replica) {
    costs.push_back(draw(one.plan, one.costs, chance, 0));
  }
  const PricedPlan all = with_replica_ranks(one, costs);
  CHECK(all.plan.ranks == 2);
  CHECK(all.plan.microbatches == 2);
  const Timeline expected = timeline_of(simulate(all));
  CHECK(to_us(expected.end[task_of(all.plan, "0REDUCE0")]) == 7);
  CHECK(to_us(expected.end[task_of(all.plan, "0REDUCE1")]) == 10);
  CHECK(to_us(expected.begin[task_of(all.plan, "0U0")]) == 10);
  CHECK(to_us(expected.begin[task_of(all.plan, "0U1")]) == 10);
  const Job job = job_of(all, quick);
  REQUIRE_FALSE(cpu_logical().obstacle(job.priced));
  CHECK(differences(job, logical_run(job)) == 0);
}

TEST_CASE("data replicas of random plans run as they are simulated, and alike take no longer") {
  CHECK(rc::check([] {
    const PricedPlan one = random_plan();
    if (!takes_time(one)) return;
    const std::uint32_t replicas = from_to(1, 3);
    PricedPlan all = with_replica_ranks(one, std::vector<Costs>(replicas, one.costs));
    RC_ASSERT(makespan(all.plan, timeline_of(simulate(all))) ==
              makespan(one.plan, timeline_of(simulate(one))));
    assert_runs_as_simulated(std::move(all));
  }));
}

TEST_CASE("cpu_logical: a deadlock behind a shared link is found with all who wait") {
  Job job = job_over_one_link("1f1b", Sharing::fair);
  job.priced.plan.input[task_of(job.priced.plan, "2SEND_F3")] = task_of(job.priced.plan, "2B7");
  const Standstill halt = halt_of(job);
  CHECK(halt.kind == "deadlock");
  CHECK(halt.text.find("3F3 of rank 3 waits for 2SEND_F3") != std::string::npos);
}

}  // namespace penstock::testing
