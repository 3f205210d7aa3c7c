#include "sim/engines/replicas.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "sim/engines/events.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// One rank of several data replicas: F of 1 us, B of 2 us, 4 bytes of parameters, a byte takes 1
/// us on the link.
System one_rank(std::uint32_t replicas, Tail tail) {
  Layer stage{.forward_us = 1, .backward_us = 2, .parameter_bytes = 4};
  System system = a_stage_each("0F0,0B0", {stage}, link(0, 1e6));
  system.extras.tail = std::move(tail);
  system.training = {.data = replicas, .optimizer_us = 1};
  return system;
}

struct Drawn {
  Plan plan;
  Timeline timeline;
  std::uint32_t replica = 0;
  std::string span(std::string_view task) const {
    const TaskId id = task_of(plan, task);
    return text_us(timeline.begin[id]) + "-" + text_us(timeline.end[id]);
  }
  Time end(std::string_view task) const { return timeline.end[task_of(plan, task)]; }
};

Drawn drawn(const System& system, const Chance& chance, std::uint32_t number = 0,
            const Together& together = {}) {
  const auto all = std::get<DrawnReplica>(
      draw_among_replicas(priced(system), chance, number, system.training.data, together));
  return {all.priced.plan, relax(all.priced), all.replica};
}

const Chance jitter{.seed = 7, .jitter = 0.3};

/// By replica: when F and B, one after the other, are done in a draw.
std::vector<Time> ends_of_backwards(const PricedPlan& one, std::uint32_t replicas,
                                    std::uint32_t number) {
  std::vector<Time> ends;
  Chance chance = jitter;
  for (chance.replica = 0; chance.replica < replicas; ++chance.replica) {
    const Costs own = draw(one.plan, one.costs, chance, number);
    ends.push_back(own.duration_of(one.plan, 0) + own.duration_of(one.plan, 1));
  }
  return ends;
}

Straggler slow_in(std::uint32_t replica, double factor) {
  Straggler straggler{Rank{0}, factor};
  straggler.replica = replica;
  return straggler;
}

Straggler slow_in_microbatch(std::uint32_t replica, std::uint32_t microbatch, double factor) {
  Straggler straggler = slow_in(replica, factor);
  straggler.from = Microbatch{microbatch};
  straggler.until = Microbatch{microbatch + 1};
  return straggler;
}

/// A number of RapidCheck's below `most`.
std::uint32_t number_below(std::uint32_t most) { return *rc::gen::inRange(0U, most); }

/// All links of a plan over one of two others.
Network two_links(const Plan& plan) {
  Network network{.links = {{"", 1e8, 0}, {"", 2e8, 0}}, .sharing = Sharing::fifo};
  for (std::size_t link = 0; link < plan.links.size(); ++link) {
    network.routes.push_back({number_below(2)});
  }
  return network;
}

/// One of two replicas, of which the first has these stragglers and the second those of the other.
struct OneOfTwo {
  Costs alone;
  PricedPlan priced;
  Timeline timeline;

  OneOfTwo(const PricedPlan& undrawn, Chance own, const Chance& other) {
    alone = draw(undrawn.plan, undrawn.costs, own, 0);
    own.stragglers.insert(own.stragglers.end(), other.stragglers.begin(), other.stragglers.end());
    for (std::size_t i = 0; i < own.stragglers.size(); ++i) {
      own.stragglers[i].replica = i < own.stragglers.size() / 2 ? 0 : 1;
    }
    priced = std::get<DrawnReplica>(draw_among_replicas(undrawn, own, 0, 2)).priced;
    timeline = timeline_of(simulate(priced));
  }
  /// When all that a transfer needs but its link is there.
  Time there(TaskId task) const {
    Time latest{};
    priced.plan.for_each_input(
        task, [&](TaskId input) { latest = std::max(latest, timeline.end[input]); });
    return latest;
  }
  /// When it goes on.
  Time goes_on(TaskId task) const {
    return timeline.begin[task] + priced.costs.latency_of(priced.plan, task) -
           alone.latency_of(priced.plan, task);
  }
  /// When its link is free for the next meeting.
  Time ends_on_link(TaskId task) const {
    return timeline.end[task] - alone.latency_of(priced.plan, task);
  }
};

/// What the replicas of a plan do together, in the order in which one comes to it.
std::vector<TaskId> sums_of(const OneOfTwo& one) {
  std::vector<TaskId> sums;
  const Plan& plan = one.priced.plan;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Pass pass = plan.class_of(task).pass;
    if (reduces_gradient(pass) || pass == Pass::gather_weights) sums.push_back(task);
  }
  std::ranges::stable_sort(sums, {}, [&](TaskId task) { return one.timeline.begin[task]; });
  return sums;
}

Together of(const std::vector<Pass>& passes) {
  Together together{};
  for (const Pass pass : passes) together.of_all[static_cast<std::size_t>(pass)] = true;
  return together;
}

const std::vector<Pass> gathering{Pass::forward, Pass::backward, Pass::backward_input,
                                  Pass::recompute};

}  // namespace

TEST_CASE("a sum waits for the replica that is slowest") {
  // Replica 0 has its gradient at 3, replica 1 at 6. A sum over two takes 2 * 1/2 * 4 = 4 us, so it
  // is there at 10; without a straggler, at 7.
  const System system = one_rank(2, {.reduces = {true}});
  CHECK(drawn(system, {}).span("0REDUCE0") == "3-7");
  const Drawn run = drawn(system, {.stragglers = {slow_in(1, 2)}});
  CHECK(run.replica == 0);
  CHECK(run.span("0B0") == "1-3");
  CHECK(run.span("0REDUCE0") == "3-10");
  // If it is replica 0 that is slow, it waits for nobody.
  CHECK(drawn(system, {.stragglers = {slow_in(0, 2)}}).span("0REDUCE0") == "6-10");
  // One that is slow in all replicas is no later than the others.
  CHECK(drawn(system, {.stragglers = {{Rank{0}, 2}}}).span("0REDUCE0") == "6-10");
}

TEST_CASE("a step ends with the last update of any replica") {
  // As above; the update of the slow replica takes 2 us, that of the others 1.
  const System system = one_rank(3, {.reduces = {true}, .updates = true});
  const auto run_with = [&](std::uint32_t slow) {
    return drawn(system, {.stragglers = {slow_in(slow, 2)}});
  };
  for (const std::uint32_t slow : {0U, 1U, 2U}) {
    CHECK(run_with(slow).replica == slow);
    CHECK(run_with(slow).end("0U0") == run_with(0).end("0U0"));
  }
  CHECK(run_with(2).span("0B0") == "2-6");
  CHECK(drawn(system, {}).replica == 0);
}

TEST_CASE("sums of two stages on one link follow each other however long they wait") {
  // Stage 1 is ready at 4 and at 8 in replica 1, stage 0 at 6 and 12. The first sum takes 8-12, the
  // second 12-16.
  System system = one_rank(2, {.reduces = {true, true}});
  system.placement = Placement::loop(1, 2);
  system.schedule = order_of("0F0,1F0,1B0,0B0");
  system.stages.push_back(system.stages.front());
  const Drawn run = drawn(system, {.stragglers = {slow_in(1, 2)}});
  CHECK(run.span("1REDUCE0") == "4-12");
  CHECK(text_us(run.end("0REDUCE0")) == "16");
}

TEST_CASE("a sum waits for that in front of it on its link though all replicas are there") {
  // Stage 1 is ready at 4 and at 8 in replica 1, stage 0 at 5 and 10. The first sum takes 8-12.
  System system = one_rank(2, {.reduces = {true, true}});
  system.placement = Placement::loop(1, 2);
  system.schedule = order_of("0F0,1F0,1B0,0B0");
  system.stages.push_back(system.stages.front());
  system.stages.front() = stage_of(1, 1);
  system.stages.front().parameter_bytes = 4;
  const Drawn run = drawn(system, {.stragglers = {slow_in(1, 2)}});
  CHECK(text_us(run.end("1REDUCE0")) == "12");
  CHECK(text_us(run.end("0REDUCE0")) == "16");
}

TEST_CASE("gathered weights wait for the last update as well") {
  // ZeRO-1: half a sum takes 2 us, the gathering too. Replica 1 is twice as slow, updates included:
  // gradients at 3 and 6, the sum until 8, U until 9 and 10, weights are there at 12.
  System system = one_rank(2, {.reduces = {true}, .updates = true, .gathers = true});
  system.training.zero = 1;
  const Drawn run = drawn(system, {.stragglers = {slow_in(1, 2)}});
  CHECK(run.span("0REDUCE0") == "3-8");
  CHECK(run.span("0U0") == "8-9");
  CHECK(text_us(run.end("0GATHER0")) == "12");
}

TEST_CASE("where each pass gathers weights, none begins before the last replica is there") {
  // Passes of 1 and 2 us; replica 0 takes twice as long for the first microbatch, replica 1 for the
  // second. Alone each ends at 9, together at 12, as long as the slower of each pass. Replica 0 is
  // done at 10 and shows less than that.
  System system = one_rank(2, {});
  system.schedule = order_of("0F0,0B0,0F1,0B1");
  const Chance chance{.stragglers = {slow_in_microbatch(0, 0, 2), slow_in_microbatch(1, 1, 2)}};
  CHECK(drawn(system, chance).span("0B1") == "7-9");
  const Drawn run = drawn(system, chance, 0, of(gathering));
  CHECK(run.replica == 1);
  CHECK(run.span("0F0") == "0-1");
  CHECK(run.span("0B0") == "1-4");  // begins to wait at 1, and to work at 2
  CHECK(run.span("0F1") == "4-8");  // waits from 4 to 6
  CHECK(run.span("0B1") == "8-12");
}

TEST_CASE("replicas that exchange tokens of experts wait for those of their group alone") {
  // Of four replicas of the last test two and two share experts. The third takes 2.5 times as long
  // for the first microbatch: with its group 10.5, with all of them 13.5 instead of 12.
  System system = one_rank(4, {});
  system.schedule = order_of("0F0,0B0,0F1,0B1");
  const Chance chance{.stragglers = {slow_in_microbatch(0, 0, 2), slow_in_microbatch(1, 1, 2),
                                     slow_in_microbatch(2, 0, 2.5)}};
  const Drawn pairs = drawn(system, chance, 0, {.exchanging = {2}});
  CHECK(pairs.replica == 1);
  CHECK(pairs.span("0B0") == "1-4");
  CHECK(pairs.span("0B1") == "8-12");
  CHECK(text_us(drawn(system, chance, 0, {.exchanging = {4}}).end("0B1")) == "13.5");
  CHECK(text_us(drawn(system, chance, 0, {.exchanging = {9}}).end("0B1")) == "13.5");
  // By itself the third ends last too: F0 until 2.5, B0 until 7.5, F1 until 8.5.
  CHECK(drawn(system, chance, 0, {.exchanging = {1}}).span("0B1") == "8.5-10.5");
}

TEST_CASE("a fused cell exchanges tokens if either of its parts does") {
  // Two stages of 1 us forward and 2 us back; the cell takes 3. Replica 1 takes twice as long for
  // the first microbatch: it comes to the cell at 5, and replica 0, which has the rest alone, at 3.
  System system = one_rank(2, {});
  system.placement = Placement::loop(1, 2);
  system.schedule = order_of("0F0,1F0,(0F1;1B0)OVERLAP_F_B,1F1,1B1,0B0,0B1");
  system.stages.push_back(system.stages.front());
  system.overlap = Overlap::fused;
  const Chance chance{.stragglers = {slow_in_microbatch(1, 0, 2), slow_in_microbatch(0, 1, 4)}};
  const auto end_with = [&](std::vector<std::uint32_t> exchanging) {
    const Drawn run = drawn(system, chance, 0, {.exchanging = std::move(exchanging)});
    CHECK(run.replica == 0);
    return text_us(run.end("1B0"));
  };
  const std::string alone = end_with({0, 0});
  CHECK(end_with({0, 2}) == end_with({2, 2}));
  CHECK(end_with({0, 2}) != alone);
}

TEST_CASE("a gradient of weights exchanges no tokens") {
  // Every pass takes 1 us; replica 0 takes twice as long for the first microbatch, replica 1 for
  // the second. F1 is done at 5 and at 6, W0 at 7 in both; if W0 began at 6 in both, the step
  // took 12.
  System system = one_rank(2, {});
  system.schedule = order_of("0F0,0I0,0F1,0W0,0I1,0W1");
  system.stages.front() = stage_of(1, 1, 1);
  const Chance chance{.stragglers = {slow_in_microbatch(0, 0, 2), slow_in_microbatch(1, 1, 2)}};
  const Drawn run = drawn(system, chance, 0, {.exchanging = {2}});
  CHECK(run.replica == 1);
  CHECK(run.span("0W0") == "6-7");
  CHECK(run.span("0W1") == "9-11");
}

TEST_CASE("the waits that one pass over all replicas finds are those of run after run") {
  CHECK(rc::check([] {
    const System system = random_system({.zero_times = false});
    PricedPlan undrawn = priced(system);
    Together together = number_below(2) == 0 ? of(gathering) : Together{};
    for (std::size_t stage = 0; stage < system.stages.size(); ++stage) {
      together.exchanging.push_back(number_below(4));
    }
    const Chance chance{.seed = number_below(1000), .jitter = 0.3, .transfer_jitter = 0.3};
    const auto at_once =
        std::get<DrawnReplica>(draw_among_replicas(undrawn, chance, 0, 3, together));
    undrawn.conditions.stall_above_bytes = UINT64_MAX / 2;  // never, but `relax` does not know that
    RC_PRE(why_not_relax(undrawn.plan, undrawn.conditions).has_value());
    const auto in_turn =
        std::get<DrawnReplica>(draw_among_replicas(undrawn, chance, 0, 3, together));
    RC_ASSERT(in_turn.replica == at_once.replica);
    RC_ASSERT(in_turn.priced.costs.task_duration == at_once.priced.costs.task_duration);
    RC_ASSERT(in_turn.priced.costs.task_latency == at_once.priced.costs.task_latency);
  }));
}

TEST_CASE("over shared links sums go on once both replicas are there, and no later") {
  CHECK(rc::check([] {
    const System system = random_system({.zero_times = false});
    PricedPlan undrawn = priced(system);
    undrawn.conditions.network = two_links(undrawn.plan);
    Chance first, second;
    for (const Rank rank : Numbers<Rank>(undrawn.plan.ranks)) {
      first.stragglers.push_back({rank, 1 + 0.5 * number_below(3)});
      second.stragglers.push_back({rank, 1 + 0.5 * number_below(3)});
    }
    const OneOfTwo one(undrawn, first, second), other(undrawn, second, first);
    std::vector<Time> met(undrawn.plan.resources());
    for (const TaskId task : sums_of(one)) {
      Time& before = met[undrawn.plan.class_of(task).resource];
      RC_ASSERT(one.goes_on(task) ==
                std::max({one.timeline.begin[task], other.there(task), before}));
      before = one.ends_on_link(task);
    }
  }));
}

TEST_CASE("with jitter a sum starts when the last of as many draws as there are replicas is done") {
  const System system = one_rank(8, {.reduces = {true}});
  const PricedPlan one = priced(system);
  const std::uint32_t sum = one.plan.work[task_of(one.plan, "0REDUCE0")];
  for (std::uint32_t number = 0; number < 5; ++number) {
    const std::vector<Time> ends = ends_of_backwards(one, 8, number);
    const Drawn run = drawn(system, jitter, number);
    CHECK(run.end("0B0") == ends.front());
    CHECK(run.end("0REDUCE0") == std::ranges::max(ends) + one.costs.duration[sum]);
  }
}

TEST_CASE("of replicas that do nothing together the slowest is shown, with jitter in each draw") {
  // F of 1 us and B of 2 us, and nothing is reduced. Replica 2 takes twice as long: 6 us.
  const System system = one_rank(4, {});
  const Drawn slow = drawn(system, {.stragglers = {slow_in(2, 2)}});
  CHECK(slow.replica == 2);
  CHECK(slow.end("0B0") == from_us(6));
  const PricedPlan one = priced(system);
  for (std::uint32_t number = 0; number < 5; ++number) {
    const Time latest = std::ranges::max(ends_of_backwards(one, 4, number));
    CHECK(drawn(system, jitter, number).end("0B0") == latest);
  }
}

TEST_CASE("replicas draw numbers of their own, the first those of a run without others") {
  const System system = one_rank(2, {.reduces = {true}});
  const Plan plan = lowered(system);
  const Costs costs = priced(system, plan);
  const Chance chance{.seed = 3, .jitter = 0.2};
  Chance second = chance;
  second.replica = 1;
  CHECK(draw(plan, costs, second, 0).task_duration != draw(plan, costs, chance, 0).task_duration);
  const auto among = draw_among_replicas({plan, costs}, chance, 0, 2);
  CHECK(std::get<DrawnReplica>(among).priced.costs.task_duration ==
        draw(plan, costs, chance, 0).task_duration);
}

}  // namespace penstock::testing
