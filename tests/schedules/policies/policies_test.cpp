#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>

#include "experiments/input/formats/torch_csv.hpp"
#include "schedules/policies/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/order_by_policy.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/plan/lower.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

/// What a policy makes of a system whose order tells only what there is to do.
struct Decided {
  System system;  // with the order that the policy chose
  std::map<std::string, Time> begin;
};

Decided decide(System system, std::string_view name, const ScheduleOptions& options,
               const Conditions& conditions = {}) {
  const Plan plan = lowered(system);
  const Costs costs = priced(system, plan);
  const auto policy = make_policy(*find_named(policy_entries(), name), system.placement, options,
                                  stage_prices(plan, costs));
  auto outcome = order_by_policy({plan, costs, conditions}, system.placement, *policy);
  if (const auto* halt = std::get_if<Standstill>(&outcome)) throw std::logic_error(halt->text);
  auto& order = std::get<DecidedOrder>(outcome);
  system.schedule = std::move(order.schedule);
  Decided decided{std::move(system), {}};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    decided.begin[task_text(plan, task)] = order.timeline.begin[task];
  }
  return decided;
}

/// The policies that take any placement, with backwards whole or split.
std::vector<const PolicyEntry*> for_any_placement() {
  std::vector<const PolicyEntry*> entries;
  for (const PolicyEntry* entry : policy_entries()) {
    if (!entry->splits_backward) entries.push_back(entry);
  }
  return entries;
}

/// Equal stages of 1 us and 2 us on so many ranks, with so much to do.
System equal_stages(std::uint32_t ranks, std::uint32_t microbatches) {
  const Placement placement = Placement::loop(ranks, 1);
  return {placement, all_work(placement, microbatches, false),
          std::vector<Layer>(ranks, stage_of(1, 2))};
}

}  // namespace

TEST_CASE("an order that a policy chose, run as a fixed one, takes the same times") {
  CHECK(rc::check([] {
    System system = random_system();
    // What goes with the order is not for a policy to decide.
    system.extras.tail = {};
    system.extras.recomputing.early = false;
    const std::uint32_t microbatches = *rc::gen::inRange<std::uint32_t>(1, 9);
    system.schedule = all_work(system.placement, microbatches, *rc::gen::arbitrary<bool>());
    for (Layer& stage : system.stages) {
      stage.backward_us = std::nullopt;
      stage.backward_input_us = *rc::gen::inRange(0, 5);
      stage.backward_weight_us = *rc::gen::inRange(0, 5);
    }
    const PolicyEntry* entry = *rc::gen::elementOf(for_any_placement());
    const std::uint32_t enough = microbatches * system.placement.stage_count();
    const ScheduleOptions options{microbatches, entry->options.empty()
                                                    ? decltype(ScheduleOptions::settings){}
                                                    : decltype(ScheduleOptions::settings){
                                                          {"activations", std::to_string(enough)}}};
    const Decided decided = decide(system, entry->name, options);
    RC_ASSERT(!find_order_fault(decided.system.schedule, system.placement));
    const Outcome outcome = simulated(decided.system);
    for (TaskId task = 0; task < outcome.plan.tasks(); ++task) {
      RC_LOG() << task_text(outcome.plan, task) << '\n';
      RC_ASSERT(outcome.timeline.begin[task] == decided.begin.at(task_text(outcome.plan, task)));
    }
  }));
}

TEST_CASE("bounded by p-r activations a rank, backward first takes as long as 1f1b") {
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U}) {
    for (const std::uint32_t microbatches : {1U, 4U, 8U, 32U}) {
      CAPTURE(ranks);
      CAPTURE(microbatches);
      const Decided decided = decide(equal_stages(ranks, microbatches), "memory-bounded", {});
      const Outcome outcome = simulated(decided.system);
      CHECK(to_us(outcome.report.makespan) == 3.0 * (microbatches + ranks - 1));
      for (std::uint32_t r = 0; r < ranks; ++r) {
        CHECK(outcome.report.ranks[r].peak_activations <= ranks - r);
      }
    }
  }
}

TEST_CASE("backward first runs a backward as soon as there is one, whatever it holds") {
  // Two ranks, f = 1, b = 2. Rank 1 goes F0 1-2, B0 2-4, F1 4-5, B1 5-7. Rank 0 begins F0 to F3 by
  // 4, when B0 is ready, and runs it then.
  const Decided decided = decide(equal_stages(2, 4), "backward-first", {});
  INFO(write_torch_csv(decided.system.schedule).text);
  CHECK(decided.system.schedule ==
        order_of("0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3"));
}

TEST_CASE("first come, first run: a rank keeps to the order in which work reached it") {
  // Rank 1 has F1 from 2 on, in front of B0, which its F0 made ready at 2 as well but which the
  // plan numbers later; then B0, F2 and so on.
  const Decided decided = decide(equal_stages(2, 3), "first-come", {});
  CHECK(decided.system.schedule == order_of("0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1B0,1F2,1B1,1B2"));
}

TEST_CASE("weight gradients fill the time that nothing else needs") {
  // Two ranks, f = i = w = 1, two microbatches. Rank 1: F0 1-2, I0 2-3, F1 3-4, I1 4-5, then W0 and
  // W1. Rank 0 has nothing to do between F1 and I0's gradient at 3.
  System system = equal_stages(2, 2);
  system.stages = {stage_of(1, 1, 1), stage_of(1, 1, 1)};
  system.schedule = all_work(system.placement, 2, true);
  const Decided decided = decide(system, "backward-first", {});
  CHECK(decided.system.schedule == order_of("0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1I1,1W0,1W1"));
}

TEST_CASE("a policy that waits for ever comes to a halt that says for what") {
  class NoBackward final : public Policy {
    std::optional<std::size_t> choose(const FreeRank&,
                                      std::span<const Candidate> candidates) const override {
      if (candidates.front().action.pass == Pass::forward) return 0;
      return std::nullopt;
    }
  };
  const System system = equal_stages(1, 1);
  const Plan plan = lowered(system);
  const auto outcome =
      order_by_policy({plan, priced(system, plan)}, system.placement, NoBackward());
  REQUIRE(std::holds_alternative<Standstill>(outcome));
  CHECK(std::get<Standstill>(outcome).text ==
        "deadlock: at 1 µs 0B0 waits for its policy to start it");
}

TEST_CASE("however little a rank may hold, one microbatch can always go on") {
  const PolicyEntry& bounded = *find_named(policy_entries(), "memory-bounded");
  // From one activation for each of its stages up, on every placement.
  for (const char* placement : {"loop", "vee"}) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 4U}) {
      for (const std::uint32_t chunks : {1U, 2U, 3U}) {
        for (std::uint32_t most = chunks; most < chunks + 4; ++most) {
          CAPTURE(placement);
          CAPTURE(ranks);
          CAPTURE(chunks);
          CAPTURE(most);
          const ScheduleOptions options{
              8, {{"activations", std::to_string(most)}, {"placement", placement}}};
          const Placement laid = policy_placement(ranks, chunks, options);
          const System system{laid, policy_work(bounded, laid, options),
                              std::vector<Layer>(laid.stage_count(), stage_of(1, 2))};
          const Outcome outcome = simulated(decide(system, "memory-bounded", options).system);
          for (const RankReport& rank : outcome.report.ranks) CHECK(rank.peak_activations <= most);
        }
      }
    }
  }
}

TEST_CASE("a policy refuses options that it does not take") {
  const PolicyEntry& entry = *find_named(policy_entries(), "memory-bounded");
  const Placement placement = Placement::loop(2, 1);
  CHECK_THROWS_WITH_AS(make_policy(entry, placement, {1, {{"group", "2"}}}),
                       "unknown option \"group\"; memory-bounded takes backward, placement, "
                       "activations",
                       UnknownOption);
  CHECK_THROWS_AS(make_policy(entry, placement, {1, {{"activations", "none"}}}), RuleError);
  CHECK_THROWS_WITH_AS(make_policy(entry, Placement::loop(2, 2), {1, {{"activations", "1"}}}),
                       "activations is 1, but rank 0 holds 2 stages with one activation each",
                       RuleError);
}

}  // namespace penstock::testing
