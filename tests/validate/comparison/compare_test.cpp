#include "validate/comparison/compare.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "sim/engines/events.hpp"
#include "tests/support/finished_run.hpp"

namespace penstock::testing {
namespace {

constexpr std::int64_t us = 1'000'000;

Comparison compared(const Outcome& a, const Outcome& b, const CompareOptions& options = {}) {
  return compare(a.plan, a.timeline, b.plan, b.timeline, options);
}

/// Two ranks, two microbatches, f = 1 us, b = 2 us, transfers of 3 us. Rank 0: F0 0-1, F1 1-2,
/// B0 10-12, B1 12-14. Rank 1: F0 4-5, B0 5-7, F1 7-8, B1 8-10. Gradients: 7-10, 10-13, so B1 of
/// rank 0 starts at 13 and ends at 15.
System small_system() {
  return a_stage_each("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", {stage_of(1, 2), stage_of(1, 2)},
                      delay(3));
}

/// The outcome again, one task so much longer.
Outcome with_longer(Outcome outcome, TaskId task, std::int64_t picoseconds) {
  Costs& costs = outcome.costs;
  if (costs.task_duration.empty()) {
    for (const std::uint32_t work : outcome.plan.work) {
      costs.task_duration.push_back(costs.duration[work]);
    }
  }
  costs.task_duration[task] += Time{picoseconds};
  outcome.timeline = relax({outcome.plan, costs});
  return outcome;
}
Outcome with_longer(const Outcome& outcome, std::string_view task, std::int64_t picoseconds) {
  return with_longer(outcome, task_of(outcome.plan, task), picoseconds);
}

const OpDifference& difference(const Comparison& comparison, const Plan& plan_a,
                               std::string_view task) {
  const TaskId wanted = task_of(plan_a, task);
  const auto found = std::find_if(comparison.ops.begin(), comparison.ops.end(),
                                  [&](const OpDifference& op) { return op.task.a == wanted; });
  REQUIRE(found != comparison.ops.end());
  return *found;
}

std::uint64_t count(const Comparison& comparison, Reason reason) {
  return comparison.reasons[static_cast<std::size_t>(reason)];
}

std::string first_op(const Comparison& comparison, const Plan& plan_a) {
  if (!comparison.first) return "none";
  return task_text(plan_a, comparison.ops[comparison.first->op].task.a);
}

}  // namespace

TEST_CASE("a run compared with itself is the same") {
  const Outcome run = simulated(small_system());
  const Comparison comparison = compared(run, run);
  CHECK(comparison.same());
  CHECK(comparison.same_plan);
  CHECK(comparison.ops.size() == 12);  // 8 actions, 4 transfers
  CHECK(comparison.tasks.only_a.empty());
  CHECK(comparison.tasks.only_b.empty());
  CHECK(comparison.starts.largest == Time{});
  CHECK(comparison.start_correlation == 1.0);
  CHECK(!comparison.first);
  CHECK(!comparison.first_order);
}

TEST_CASE("one longer op is the first cause, and all that follows is passed on") {
  // 1F0 takes 2 us rather than 1: it ends at 6, and B0, F1, B1 of rank 1, both gradients, and B0
  // and B1 of rank 0 come 1 us later: 7 ops.
  const Outcome a = simulated(small_system());
  const Comparison comparison = compared(a, with_longer(a, "1F0", us));
  CHECK(!comparison.same());
  REQUIRE(comparison.first);
  CHECK(first_op(comparison, a.plan) == "1F0");
  CHECK(comparison.first->at == Time{5 * us});
  CHECK(difference(comparison, a.plan, "1F0").reason == Reason::duration);
  CHECK(comparison.actions.durations == 1);
  CHECK(comparison.actions.duration == Time{us});
  CHECK(comparison.transfers.durations == 0);
  CHECK(count(comparison, Reason::duration) == 1);
  CHECK(count(comparison, Reason::before) == 3);  // B0, F1, B1 of rank 1
  CHECK(count(comparison, Reason::input) == 4);   // gradients, and B0 and B1 of rank 0
  CHECK(count(comparison, Reason::none) == 4);    // the forwards of rank 0, and their transfers
  CHECK(!comparison.first_order);
}

TEST_CASE("a shorter op is the first cause just so") {
  const Outcome a = simulated(small_system());
  const Comparison comparison = compared(a, with_longer(a, "0F0", -us / 2));
  CHECK(first_op(comparison, a.plan) == "0F0");
  REQUIRE(comparison.first);
  CHECK(comparison.first->at == Time{us / 2});
  CHECK(comparison.actions.duration == Time{-us / 2});
}

TEST_CASE("a passed on difference names what came later") {
  const Outcome a = simulated(small_system());
  const Outcome b = with_longer(a, "1F0", us);
  const Comparison comparison = compared(a, b);
  const OpDifference& backward = difference(comparison, a.plan, "0B0");
  CHECK(backward.reason == Reason::input);
  CHECK(task_text(b.plan, backward.by.b) == "1SEND_B0");
  CHECK(backward.start == Time{us});
  CHECK(backward.inherited() == Time{us});
  CHECK(backward.wait == Time{});
  // The other way round it is A in which it came later.
  const Comparison back = compared(b, a);
  const OpDifference& earlier = difference(back, b.plan, "0B0");
  CHECK(earlier.start == Time{-us});
  CHECK(earlier.by.b == no_task);
  CHECK(task_text(b.plan, earlier.by.a) == "1SEND_B0");
}

TEST_CASE("waiting is told apart from transferring") {
  // Two forwards of 1 us each, activations of 4,000 bytes over links of 1e9 bytes/s. Transfers
  // take 4 us: 1-5 and 5-9, the second queued for 3 us. At 2e9 bytes/s they take 2: 1-3 and 3-5,
  // the second queued for 1.
  System system = a_stage_each("0F0,0F1\n1F0,1F1", {stage_of(1, 0), stage_of(1, 0)}, link(0, 1e9));
  for (Layer& stage : system.stages) stage.activation_bytes = 4000;
  const Outcome a = simulated(system);
  system.hardware = link(0, 2e9);
  const Comparison comparison = compared(a, simulated(system));
  REQUIRE(comparison.use_a.links.size() == 1);
  CHECK(comparison.use_a.links[0].transfers == 2);
  CHECK(comparison.use_a.links[0].waiting == Time{3 * us});
  CHECK(comparison.use_a.links[0].moving == Time{8 * us});
  CHECK(comparison.use_b.links[0].waiting == Time{us});
  CHECK(comparison.use_b.links[0].moving == Time{4 * us});
  CHECK(first_op(comparison, a.plan) == "0SEND_F0");
  const OpDifference& queued = difference(comparison, a.plan, "0SEND_F1");
  CHECK(queued.reason == Reason::wait);
  CHECK(queued.wait == Time{-2 * us});
  CHECK(queued.duration() == Time{-2 * us});
  CHECK(comparison.transfers.waits == 1);
  CHECK(comparison.transfers.durations == 2);
}

TEST_CASE("another order is found where it begins") {
  // Rank 1 runs F1 before B0: they change places behind F0, which ends at 5.
  System system = small_system();
  const Outcome a = simulated(system);
  system.schedule = order_of("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1");
  const Outcome b = simulated(system);
  const Comparison comparison = compared(a, b);
  CHECK(!comparison.same_plan);
  CHECK(comparison.ops.size() == 12);
  REQUIRE(comparison.first_order);
  CHECK(comparison.first_order->at == Time{5 * us});
  CHECK(comparison.first_order->resource == 1);
  CHECK(task_text(a.plan, comparison.first_order->after.a) == "1F0");
  CHECK(task_text(a.plan, comparison.first_order->next.a) == "1B0");
  CHECK(task_text(b.plan, comparison.first_order->next.b) == "1F1");
  // F1 starts at 5 rather than 7, for it comes behind F0 and not B0.
  CHECK(first_op(comparison, a.plan) == "1B0");
  const OpDifference& forward = difference(comparison, a.plan, "1F1");
  CHECK(forward.reason == Reason::order);
  CHECK(forward.start == Time{-2 * us});
  CHECK(task_text(a.plan, forward.by.a) == "1B0");
  CHECK(task_text(b.plan, forward.by.b) == "1F0");
}

TEST_CASE("what is over the tolerance is a difference, what is at it is none") {
  // The makespan is 15 us; an op that takes 1.5 us longer is a tenth of it.
  const Outcome a = simulated(small_system());
  const Outcome b = with_longer(a, "1F0", 3 * us / 2);
  CHECK(makespan(a.plan, a.timeline) == Time{15 * us});
  CHECK(compared(a, b, {.tolerance = 0.1}).same());
  CHECK(compared(a, b, {.tolerance = 0.1}).tolerance == Time{3 * us / 2});
  CHECK(!compared(a, b, {.tolerance = 0.0999}).same());
}

TEST_CASE("plans of other sizes are compared over what they share") {
  // One microbatch against two: F0 and B0 of both stages and their transfers are shared.
  System system = small_system();
  const Outcome two = simulated(system);
  system.schedule = order_of("0F0,0B0\n1F0,1B0");
  const Outcome one = simulated(system);
  const Comparison comparison = compared(two, one);
  CHECK(comparison.ops.size() == 6);
  CHECK(comparison.tasks.only_a.size() == 6);
  CHECK(comparison.tasks.only_b.empty());
  CHECK(!comparison.same());
  for (const TaskPair& task : comparison.tasks.shared) {
    CHECK(task_text(two.plan, task.a) == task_text(one.plan, task.b));
  }
}

TEST_CASE("a stage on another rank is the same stage, elsewhere") {
  // Both stages on rank 0, and one on each of two ranks: no transfers in the first.
  System system{Placement::loop(1, 2), order_of("0F0,1F0"), {stage_of(1, 0), stage_of(1, 0)}};
  const Outcome together = simulated(system);
  system.placement = Placement::loop(2, 1);
  system.schedule = order_of("0F0\n1F0");
  const Outcome apart = simulated(system);
  const Comparison comparison = compared(together, apart);
  CHECK(comparison.ops.size() == 2);
  CHECK(comparison.tasks.only_b.size() == 1);
  CHECK(difference(comparison, together.plan, "1F0").reason == Reason::place);
  CHECK(difference(comparison, together.plan, "0F0").reason == Reason::none);
}

TEST_CASE("plans that share nothing have nothing to compare") {
  const Outcome forwards = simulated(a_stage_each("0F0", {stage_of(1, 2)}));
  System system = a_stage_each("0F1,0B1", {stage_of(1, 2)});
  const Comparison comparison = compared(forwards, simulated(system));
  CHECK(comparison.ops.empty());
  CHECK(comparison.tasks.only_a.size() == 1);
  CHECK(comparison.tasks.only_b.size() == 2);
}

TEST_CASE("runs lie on one axis by their starts, by their first ops or by both ends") {
  // B is A 7 us later, and twice as long as A once that is taken away.
  const Outcome a = simulated(small_system());
  Outcome b = a;
  for (std::vector<Time>* column : {&b.timeline.begin, &b.timeline.end}) {
    for (Time& time : *column) time += Time{7 * us};
  }
  const Comparison by_start = compared(a, b);
  CHECK(by_start.starts.median == Time{7 * us});
  CHECK(by_start.starts.largest == Time{7 * us});
  CHECK(compared(a, b, {.alignment = Alignment::first_op}).same());

  Outcome slow = a;
  for (std::vector<Time>* column : {&slow.timeline.begin, &slow.timeline.end}) {
    for (Time& time : *column) time += time;
  }
  CHECK(!compared(a, slow, {.alignment = Alignment::first_op}).same());
  const Comparison scaled = compared(a, slow, {.alignment = Alignment::makespan});
  CHECK(scaled.same());
  CHECK(scaled.scale == 0.5);
  CHECK(scaled.use_b.makespan == scaled.use_a.makespan);
}

TEST_CASE("spreads are those of the ops, sign left out") {
  // One rank, four forwards of 1 us. 0F1 takes 1 us longer: F2 and F3 start 1 us later, so the
  // starts are apart by 0 0 1 1, by 0.5 in the median and by 1 in nine of ten.
  const Outcome a = simulated(a_stage_each("0F0,0F1,0F2,0F3", {stage_of(1, 0)}));
  const Comparison comparison = compared(a, with_longer(a, "0F1", us));
  CHECK(comparison.starts.median == Time{us / 2});
  CHECK(comparison.starts.ninth_decile == Time{us});
  CHECK(comparison.durations.median == Time{});
  CHECK(comparison.durations.largest == Time{us});
}

TEST_CASE("a timeline without last inputs says that causes are unknown") {
  const Outcome a = simulated(small_system());
  Outcome b = a;
  std::fill(b.timeline.last_input.begin(), b.timeline.last_input.end(), no_task);
  const Comparison comparison = compared(a, b);
  CHECK(comparison.use_a.causes_known);
  CHECK(!comparison.use_b.causes_known);
  CHECK(comparison.same());
}

TEST_CASE("any run is the same as itself, and parts from another where one op was made longer") {
  CHECK(rc::check([] {
    const RunResult run = random_relaxed_run();
    const Plan& plan = *run.plan;
    RC_PRE(plan.tasks() > 0);
    RC_ASSERT(compare(plan, run.timeline, plan, run.timeline).same());
    const Outcome a{plan, run.costs, run.timeline, {}};
    TaskId task = *rc::gen::inRange<TaskId>(0, plan.tasks());
    if (plan.class_of(task).follows_partner) --task;  // its length is that of the cell
    const Comparison comparison = compared(a, with_longer(a, task, us));
    RC_ASSERT(comparison.first.has_value());
    RC_ASSERT(comparison.ops[comparison.first->op].task.a == task);
    RC_ASSERT(comparison.ops[comparison.first->op].reason == Reason::duration);
    RC_ASSERT(comparison.actions.durations + comparison.transfers.durations == 1);
  }));
}

TEST_CASE("any two runs: what is shared or not adds up, differences are sums of their parts") {
  CHECK(rc::check([] {
    const auto a = random_run();
    const auto b = random_run();
    RC_PRE(a.has_value() && b.has_value());
    const Comparison comparison = compare(*a->plan, a->timeline, *b->plan, b->timeline);
    const TaskMatch& tasks = comparison.tasks;
    RC_ASSERT(tasks.shared.size() + tasks.only_a.size() == a->plan->tasks());
    RC_ASSERT(tasks.shared.size() + tasks.only_b.size() == b->plan->tasks());
    std::vector<bool> seen(b->plan->tasks());
    for (const OpDifference& op : comparison.ops) {
      RC_ASSERT(task_text(*a->plan, op.task.a) == task_text(*b->plan, op.task.b));
      RC_ASSERT(!seen[op.task.b]);
      seen[op.task.b] = true;
      RC_ASSERT(op.inherited() + op.wait + op.duration() == op.end);
    }
    if (comparison.ops.empty()) return;
    TimeSum change = comparison.makespan_change.rest;
    for (const ChangePart& part : comparison.makespan_change.parts) change += part.change;
    RC_ASSERT(change == comparison.use_b.makespan - comparison.use_a.makespan);
    for (std::size_t r = 0; r < a->report->ranks.size(); ++r) {
      RC_ASSERT(comparison.use_a.ranks[r].busy == a->report->ranks[r].busy);
      RC_ASSERT(comparison.use_a.ranks[r].idle == a->report->ranks[r].idle);
    }
  }));
}

}  // namespace penstock::testing
