#include "sim/report/critical_path.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <utility>

#include "sim/engines/events.hpp"
#include "tests/support/finished_run.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// "0F0 0-1, 0SEND_F0 1-9 (contention 4)": the steps, and what they waited for.
std::string path_text(const Plan& plan, const std::vector<PathStep>& path) {
  std::string all;
  for (const PathStep& step : path) {
    all += fmt::format("{}{} {}-{}", all.empty() ? "" : ", ", task_text(plan, step.task),
                       text_us(step.begin), text_us(step.end));
    const auto add = [&](const char* name, Time time) {
      if (time > Time{}) all += fmt::format(" ({} {})", name, text_us(time));
    };
    add("memory", step.waits.memory);
    add("launch", step.waits.launch);
    add("contention", step.waits.contention);
    add("slowdown", step.waits.slowdown);
  }
  return all;
}

std::string path_of(const System& system, const Conditions& conditions) {
  const RunResult result = finished(system, conditions);
  return path_text(*result.plan, result.report->critical_path);
}

/// Four ranks of which 0 sends to 1 and 2 to 3, over one link that both pairs share.
std::string path_over_spine(Sharing sharing) {
  Conditions conditions{
      .network = {.links = {{"spine", 1e9, 0}}, .routes = {{0}, {0}}, .sharing = sharing}};
  return path_of(in_pairs({0, 1, 2, 3}, "0F0\n1F0\n2F1\n3F1"), conditions);
}

/// Two ranks that pass microbatches on and back, one after the other.
System ping_pong(std::uint32_t microbatches) {
  System system{Placement::loop(2, 1), Schedule(2), {stage_of(1, 2), stage_of(1, 2)}, delay(1)};
  for (Microbatch m : Numbers<Microbatch>(microbatches)) {
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      for (std::uint32_t r : {0U, 1U}) system.schedule.on(Rank{r}).push_back({pass, Stage{r}, m});
    }
  }
  return system;
}

}  // namespace

TEST_CASE("of a transfer that shares its link, what the others cost it is contention") {
  // F takes 1 us and a transfer 4 us alone; two at once take 8 us each.
  CHECK(path_over_spine(Sharing::fair) == "0F0 0-1, 0SEND_F0 1-9 (contention 4), 1F0 9-10");
}

TEST_CASE("of a transfer that queues behind those of another pair, that wait is contention") {
  // The lower stage goes first, 1-5; the other 5-9.
  CHECK(path_over_spine(Sharing::fifo) == "2F1 0-1, 2SEND_F1 1-9 (contention 4), 3F1 9-10");
}

TEST_CASE("with one transfer in flight at a time, a rank's next one waits for it: contention") {
  // Rank 0 makes outputs for ranks 1 and 2 by 1 and 2 us; each travels 4 us, from 1 and from 5.
  Conditions conditions;
  conditions.sends_in_flight = conditions.receives_in_flight = 1;
  CHECK(path_of(in_pairs({0, 1, 0, 2}, "0F0,2F1\n1F0\n3F1"), conditions) ==
        "0F0 0-1, 2F1 1-2, 2SEND_F1 2-9 (contention 3), 3F1 9-10");
}

TEST_CASE("a transfer that waits for its receiver's memory has that wait on the path") {
  // F takes 1 us, a transfer 4 us to leave and 5 more to arrive; it takes all the memory that rank
  // 1 has until 1F0 reads it: 0SEND_F0 leaves 1-5 and is there at 10. 0SEND_F1 has the link from 5
  // on and the room at 10: it leaves by 14 and is there at 19.
  System system = in_pairs({0, 1}, "0F0,0F1\n1F0,1F1");
  system.hardware.latency_us = 5;
  CHECK(path_of(system, {.stall_above_bytes = 4000}) ==
        "0F0 0-1, 0SEND_F0 1-5, 0SEND_F1 5-19 (memory 5), 1F1 19-20");
}

TEST_CASE("an action that waits until what was evicted has left has that wait on the path") {
  // One rank with room for one activation, f = 1, b = 2, 4 us to its host and 4 back: 0SEND_E0 goes
  // from 1 to 5, and only then 0F1 has room. 0SEND_L0 takes the room that 0B1 gives back at 8.
  System system{Placement::loop(1, 1), Schedule(1), {stage_of(1, 2)}, link(0, 1e9)};
  system.stages.front().stash_bytes = 4000;
  system.schedule.on(Rank{0}) = actions_of("0F0 0E0 0F1 0B1 0L0 0B0");
  CHECK(path_of(system, {.stall_above_bytes = 4000}) ==
        "0F0 0-1, 0E0 1-1, 0F1 1-6 (memory 4), 0B1 6-8, 0L0 8-8, 0SEND_L0 8-12, 0B0 12-14");
}

TEST_CASE("a rank that waits for what it sends goes on, on the path, when that has left") {
  // F takes 1 us, a transfer 4 us to leave and 1 more to arrive. 0F1 runs from 5 to 6.
  System system = in_pairs({0, 1}, "0F0,0F1\n1F0,1F1");
  system.hardware.latency_us = 1;
  CHECK(path_of(system, {.blocking_sends = true}) ==
        "0F0 0-1, 0SEND_F0 1-5, 0F1 5-6, 0SEND_F1 6-11, 1F1 11-12");
}

TEST_CASE("what a rank sent in front of its last action holds it up no more") {
  // f = b = 1; actions are issued every 10 us, a transfer takes 1 us to leave and 10 more to
  // arrive. 0F0 10-11 arrives at 22: 1F0 22-23, 1B0 23-24, and its gradient leaves by 25. 0F1 20-21
  // arrives at 32: 1F1 32-33. 1B1 is issued at 40; 0B1 follows its gradient at 52.
  System system = in_pairs({0, 1}, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", 1, 1);
  for (Layer& stage : system.stages) stage.backward_us = 1;
  system.hardware.latency_us = 10;
  PricedPlan all = priced(system);
  all.conditions.blocking_sends = true;
  all.costs.issue = from_us(10);
  const Timeline timeline = timeline_of(simulate(all));
  CHECK(path_text(all.plan, critical_path(all.plan, all.costs, timeline, all.conditions)) ==
        "0F0 0-11 (launch 10), 0SEND_F0 11-12, 0F1 12-21 (launch 8), 0SEND_F1 21-32, 1F1 32-33, "
        "1B1 33-41 (launch 7), 1SEND_B1 41-52, 0B1 52-53");
}

TEST_CASE("with rendezvous the path goes through what its reader does before") {
  // F takes 1 us on rank 0 and 10 us on rank 1, a transfer 4 us: the second waits for 1F0.
  System system = in_pairs({0, 1}, "0F0,0F1\n1F0,1F1");
  system.stages[1].forward_us = 10;
  CHECK(path_of(system, {.rendezvous = true}) ==
        "0F0 0-1, 0SEND_F0 1-5, 1F0 5-15, 0SEND_F1 15-19, 1F1 19-29");
}

TEST_CASE("with rendezvous, too, the sum over data replicas waits for nobody") {
  // Stages 0 and 1 on one rank, f = 1, b = 2: 1B0 2-4, 0B0 4-6. Only stage 1 is summed, 4-8: its
  // update, behind 0B0 on the rank, follows that.
  System system{Placement::loop(1, 2), order_of("0F0,1F0,1B0,0B0"), {}, link(0, 1e6)};
  system.stages = {stage_of(1, 2), stage_of(1, 2)};
  system.stages[1].parameter_bytes = 4;
  system.extras.tail = {.reduces = {false, true}, .updates = true};
  system.training = {.data = 2, .optimizer_us = 3};
  CHECK(path_of(system, {.rendezvous = true}) ==
        "0F0 0-1, 1F0 1-2, 1B0 2-4, 1REDUCE0 4-8, 1U0 8-11, 0U0 11-14");
}

TEST_CASE("what transfers make longer of an action is told apart from the action") {
  // F and transfers take 4 us, an action beside a transfer twice as long: 1F0 does 2 us of its work
  // by 10, when the second transfer starts, and the other 2 by 14.
  CHECK(path_of(in_pairs({0, 1}, "0F0,0F1\n1F0,1F1", 4), {.compute_slowdown = 2}) ==
        "0F0 0-4, 0SEND_F0 4-8, 1F0 8-14 (slowdown 2), 1F1 14-18");
}

TEST_CASE("in any run under any conditions the steps of the path cover it without a gap") {
  CHECK(rc::check([] {
    const auto result = random_run();
    if (!result) return;
    Time at{};
    std::vector<bool> met(result->plan->tasks());
    for (const PathStep& step : result->report->critical_path) {
      RC_ASSERT(!met[step.task]);  // else tasks that take no time would go round for ever
      met[step.task] = true;
      RC_LOG() << path_text(*result->plan, {step}) << '\n';
      RC_ASSERT(step.begin == at);
      RC_ASSERT(step.end >= step.begin);
      RC_ASSERT(result->timeline.begin[step.task] >= step.begin);
      RC_ASSERT(result->timeline.begin[step.task] <= step.end);
      RC_ASSERT(result->timeline.end[step.task] >= step.end);
      for (const Time wait : {step.waits.memory, step.waits.launch, step.waits.contention,
                              step.waits.slowdown, step.work()}) {
        RC_ASSERT(wait >= Time{});
      }
      at = step.end;
    }
    RC_ASSERT(at == result->report->makespan);
  }));
}

TEST_CASE("in any run a path waits only for what the run has") {
  CHECK(rc::check([] {
    const auto result = random_run();
    if (!result) return;
    const Conditions& conditions = result->conditions;
    PathWaits waits;
    for (const PathStep& step : result->report->critical_path) waits += step.waits;
    if (!conditions.stall_above_bytes) RC_ASSERT(waits.memory == Time{});
    if (!result->costs.has_launches()) RC_ASSERT(waits.launch == Time{});
    if (conditions.compute_slowdown == 1) RC_ASSERT(waits.slowdown == Time{});
    const bool alone = conditions.network.links.empty() && !conditions.limits_in_flight() &&
                       conditions.transfer_slowdown == 1;
    if (alone) RC_ASSERT(waits.contention == Time{});
  }));
}

TEST_CASE("the task before another is the last one of its rank or link, in whatever block") {
  const PricedPlan all = priced(ping_pong(8000));
  const Plan& plan = all.plan;
  REQUIRE(plan.tasks() == 48'000);  // three blocks
  std::vector<TaskId> last(plan.resources(), no_task), expected;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    expected.push_back(std::exchange(last[plan.class_of(task).resource], task));
  }
  TasksBefore before(plan, all.costs, relax(all));
  std::vector<TaskId> found(plan.tasks());
  for (TaskId task = plan.tasks(); task-- > 0;) found[task] = before.of(task);
  CHECK(found == expected);
  CHECK(before.of(plan.tasks() - 1) == expected.back());
}

TEST_CASE("transfers that a link served in another order follow each other as they were served") {
  const PricedPlan all = priced(ping_pong(3));
  Timeline timeline = relax(all);
  const TaskId first = task_of(all.plan, "0SEND_F0");
  const TaskId second = task_of(all.plan, "0SEND_F1");
  const TaskId third = task_of(all.plan, "0SEND_F2");
  std::swap(timeline.begin[first], timeline.begin[third]);
  std::swap(timeline.end[first], timeline.end[third]);
  TasksBefore before(all.plan, all.costs, timeline);
  CHECK(before.of(third) == no_task);
  CHECK(before.of(second) == third);
  CHECK(before.of(first) == second);
  CHECK(before.of(task_of(all.plan, "0F1")) == task_of(all.plan, "0B0"));
}

}  // namespace penstock::testing
