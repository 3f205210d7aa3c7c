#include "sim/engines/replicas.hpp"

#include <doctest/doctest.h>

#include "sim/engines/events.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// One rank of several data replicas: F of 1 us, B of 2 us, 4 bytes of parameters, a byte takes 1
/// us on the link.
System one_rank(std::uint32_t replicas, Tail tail) {
  Layer stage = stage_of(1, 2);
  stage.parameter_bytes = 4;
  System system{Placement::loop(1, 1), order_of("0F0,0B0"), {stage}, link(0, 1e6)};
  system.extras.tail = std::move(tail);
  system.training = {.data = replicas, .optimizer_us = 1};
  return system;
}

struct Drawn {
  Plan plan;
  Timeline timeline;
  std::string span(std::string_view task) const {
    const TaskId id = task_of(plan, task);
    return text_us(timeline.begin[id]) + "-" + text_us(timeline.end[id]);
  }
  Time end(std::string_view task) const { return timeline.end[task_of(plan, task)]; }
};

Drawn drawn(const System& system, const Chance& chance, std::uint32_t number = 0) {
  PricedPlan undrawn{lowered(system), {}};
  undrawn.costs = priced(system, undrawn.plan);
  const auto all =
      std::get<PricedPlan>(draw_among_replicas(undrawn, chance, number, system.training.data));
  return {all.plan, relax(all)};
}

Straggler slow_in(std::uint32_t replica, double factor) {
  Straggler straggler{Rank{0}, factor};
  straggler.replica = replica;
  return straggler;
}

}  // namespace

TEST_CASE("a sum waits for the replica that is slowest") {
  // Replica 0 has its gradient at 3, replica 1 at 6. A sum over two takes 2 * 1/2 * 4 = 4 us, so it
  // is there at 10 and U ends at 11; without a straggler, at 8.
  const System system = one_rank(2, {.reduces = {true}, .updates = true});
  CHECK(drawn(system, {}).span("0U0") == "7-8");
  const Drawn run = drawn(system, {.stragglers = {slow_in(1, 2)}});
  CHECK(run.span("0B0") == "1-3");
  CHECK(run.span("0REDUCE0") == "3-10");
  CHECK(run.span("0U0") == "10-11");
  // If it is replica 0 that is slow, it waits for nobody.
  CHECK(drawn(system, {.stragglers = {slow_in(0, 2)}}).span("0REDUCE0") == "6-10");
  // One that is slow in all replicas is no later than the others.
  CHECK(drawn(system, {.stragglers = {{Rank{0}, 2}}}).span("0REDUCE0") == "6-10");
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

TEST_CASE("with jitter a sum starts when the last of as many draws as there are replicas is done") {
  const System system = one_rank(8, {.reduces = {true}});
  const Plan plan = lowered(system);
  const Costs costs = priced(system, plan);
  for (std::uint32_t number = 0; number < 5; ++number) {
    Chance chance{.seed = 7, .jitter = 0.3};
    Time latest{}, first{};
    for (std::uint32_t replica = 0; replica < 8; ++replica) {
      chance.replica = replica;
      const Costs own = draw(plan, costs, chance, number);
      const Time done = own.duration_of(plan, 0) + own.duration_of(plan, 1);
      latest = std::max(latest, done);
      if (replica == 0) first = done;
    }
    const Drawn run = drawn(system, {.seed = 7, .jitter = 0.3}, number);
    CHECK(run.end("0B0") == first);
    CHECK(run.end("0REDUCE0") == latest + costs.duration[plan.work[task_of(plan, "0REDUCE0")]]);
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
  CHECK(std::get<PricedPlan>(among).costs.task_duration ==
        draw(plan, costs, chance, 0).task_duration);
}

}  // namespace penstock::testing
