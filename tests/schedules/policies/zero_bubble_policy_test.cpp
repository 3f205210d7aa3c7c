#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>

#include "schedules/policies/choosing/zero_bubble_search.hpp"
#include "schedules/policies/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/order_by_policy.hpp"
#include "sim/order/order_fault.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

const PolicyEntry& zero_bubble() { return *find_named(policy_entries(), "zero-bubble"); }

ScheduleOptions options_for(std::uint32_t microbatches, std::uint32_t activations) {
  return {microbatches, {{"activations", std::to_string(activations)}}};
}

/// A chain of stages, one a rank, with all there is to do. I gives its part of a stash back.
System chain_of(std::vector<Layer> stages, std::uint32_t microbatches) {
  const auto ranks = static_cast<std::uint32_t>(stages.size());
  const Placement placement = Placement::loop(ranks, 1);
  System system{placement, policy_work(zero_bubble(), placement, {microbatches, {}}),
                std::move(stages)};
  system.extras.holds[static_cast<std::size_t>(BufferKind::input_stash)] = true;
  return system;
}

/// The system in the order that the policy chooses.
System ordered(System system, const ScheduleOptions& options) {
  const Plan plan = lowered(system);
  const Costs costs = priced(system, plan);
  const auto policy =
      make_policy(zero_bubble(), system.placement, options, stage_prices(plan, costs));
  auto outcome = order_by_policy({plan, costs}, system.placement, *policy);
  if (const auto* halt = std::get_if<Standstill>(&outcome)) throw std::logic_error(halt->text);
  auto& order = std::get<DecidedOrder>(outcome);
  system.schedule = std::move(order.schedule);
  return system;
}

/// How much longer than its work the longest span of a rank is, in microseconds.
double waited_us(std::uint32_t ranks, std::uint32_t microbatches, std::uint32_t activations,
                 const Layer& stage) {
  const System system = ordered(chain_of(std::vector<Layer>(ranks, stage), microbatches),
                                options_for(microbatches, activations));
  const Report report = simulated(system).report;
  double longest = 0;
  for (const RankReport& rank : report.ranks) {
    CHECK(rank.peak_activations <= activations);
    longest = std::max(longest, to_us(rank.end - rank.start));
  }
  return longest - to_us(report.ranks[0].busy);
}

/// What is held from F to W, less what I gives back, at its most; as an order has it.
double most_held(const std::vector<Action>& order, double whole, double pending) {
  double held = 0, most = 0;
  for (const Action& action : order) {
    if (action.pass == Pass::forward) held += whole;
    if (action.pass == Pass::backward_input) held += pending - whole;
    if (action.pass == Pass::backward_weight) held -= pending;
    most = std::max(most, held);
  }
  return most;
}

}  // namespace

TEST_CASE("zero-bubble: with f = i = w and 2p-1 activations no rank waits once it has begun") {
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U}) {
    for (const std::uint32_t microbatches : {2 * ranks - 1, 2 * ranks, 3 * ranks, 40U}) {
      CAPTURE(ranks);
      CAPTURE(microbatches);
      CHECK(waited_us(ranks, microbatches, 2 * ranks - 1, stage_of(1, 1, 1)) == 0);
    }
  }
}

TEST_CASE("zero-bubble: with p activations a rank waits (p-1)(f+i-w), as under zb-h1") {
  const std::array<std::array<double, 3>, 5> times{
      {{1, 1, 1}, {2, 2, 1}, {2, 3, 1}, {10, 14, 6}, {5, 3, 2}}};
  for (const std::array<double, 3>& time : times) {
    for (const std::uint32_t ranks : {2U, 4U, 8U}) {
      for (const std::uint32_t microbatches : {2 * ranks, 4 * ranks, 32U}) {
        CAPTURE(ranks);
        CAPTURE(microbatches);
        CAPTURE(time[0]);
        CHECK(waited_us(ranks, microbatches, ranks, stage_of(time[0], time[1], time[2])) ==
              (ranks - 1) * (time[0] + time[1] - time[2]));
      }
    }
  }
}

TEST_CASE("zero-bubble: a rank may hold more microbatches where I gives most of them back") {
  // Three ranks, f = i = 2, w = 1, eight microbatches, five activations. Where they are held whole
  // until W, the last rank is full after five Fs and needs a W in front of each of the other three,
  // which holds rank 0 up. Where I leaves a fifth of them, no more than 1 + 7 / 5 are held.
  Layer stage{.forward_us = 2, .backward_input_us = 2, .backward_weight_us = 1, .stash_bytes = 10};
  const auto last_row = [&](double given_back) {
    stage.freed_by_input_bytes = given_back;
    const System system = ordered(chain_of(std::vector<Layer>(3, stage), 8), options_for(8, 5));
    std::string row;
    for (const Action& action : system.schedule.on(Rank{2})) row += letters(action.pass);
    return row;
  };
  CHECK(last_row(0) == "FIFIFIFIFIWFIWFIWFIWWWWW");
  CHECK(last_row(8) == "FIFIFIFIFIFIFIFIWWWWWWWW");
}

TEST_CASE("zero-bubble: any stages come to a whole order that keeps to its memory") {
  CHECK(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::size_t>(1, 6);
    const auto microbatches = *rc::gen::inRange<std::uint32_t>(1, 12);
    const auto activations = *rc::gen::inRange<std::uint32_t>(1, 12);
    std::vector<Layer> stages;
    for (std::size_t s = 0; s < ranks; ++s) {
      Layer stage =
          stage_of(*rc::gen::inRange(0, 9), *rc::gen::inRange(0, 9), *rc::gen::inRange(0, 9));
      stage.stash_bytes = *rc::gen::inRange(1, 20);
      stage.freed_by_input_bytes = *rc::gen::inRange(0, static_cast<int>(stage.stash_bytes) + 1);
      stages.push_back(stage);
    }
    System system = chain_of(stages, microbatches);
    system.hardware = delay(*rc::gen::inRange(0, 4));
    system = ordered(std::move(system), options_for(microbatches, activations));
    RC_ASSERT(!find_order_fault(system.schedule, system.placement));
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const auto& order = system.schedule.on(Rank{r});
      const double whole = stages[r].stash_bytes;
      RC_ASSERT(order.size() == std::size_t{3} * microbatches);
      RC_ASSERT(most_held(order, whole, whole - stages[r].freed_by_input_bytes) <=
                activations * whole);
    }
  }));
}

TEST_CASE("zero-bubble: times that are not equal are gone by, and so are transfers") {
  const Layer quick = stage_of(1, 1, 1), slow = stage_of(1, 1, 3);
  System system = chain_of({quick, slow}, 3);
  system.hardware = delay(1);
  const Plan plan = lowered(system);
  const std::vector<StagePrice> prices = stage_prices(plan, priced(system, plan));
  REQUIRE(prices.size() == 2);
  CHECK(prices[0] == StagePrice{.forward = from_us(1),
                                .input = from_us(1),
                                .weight = from_us(1),
                                .to_next = from_us(1),
                                .to_previous = {}});
  CHECK(prices[1] == StagePrice{.forward = from_us(1),
                                .input = from_us(1),
                                .weight = from_us(3),
                                .to_next = {},
                                .to_previous = from_us(1)});
}

TEST_CASE("zero-bubble: what it is not defined for is refused") {
  CHECK_THROWS_WITH_AS(make_policy(zero_bubble(), Placement::loop(2, 2), {4, {}}),
                       "rank 0 holds several stages; zero-bubble needs one per rank", RuleError);
  CHECK_THROWS_WITH_AS(
      make_policy(zero_bubble(), Placement::loop(2, 1), {4, {{"backward", "split"}}}),
      "unknown option \"backward\"; zero-bubble takes placement, activations", UnknownOption);
}

}  // namespace penstock::testing
