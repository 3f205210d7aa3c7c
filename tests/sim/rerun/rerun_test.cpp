#include "sim/rerun/rerun.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/reruns.hpp"

// Changes of what things cost. Those of orders are in rerun_order_test.cpp.

namespace penstock::testing {
namespace {

std::uint64_t looked_at(const Rerun::Answer& answer) {
  REQUIRE(std::holds_alternative<Rerun::Done>(answer));
  return std::get<Rerun::Done>(answer).looked_at;
}

std::string rerun_refusal(const Rerun::Answer& answer) {
  REQUIRE(std::holds_alternative<Refused>(answer));
  return std::get<Refused>(answer).text;
}

/// 1F1B of which F takes 1 us and B 2 us; links delay by 1 us.
Rerun one_f_one_b(std::uint32_t ranks, std::uint32_t microbatches) {
  const ScheduleEntry& entry = *find_named(schedule_entries(), "1f1b");
  const Placement placement = entry.place(ranks, 1);
  return *rerun_of({placement, make_schedule(entry, placement, {microbatches, {}}),
                    std::vector<Layer>(ranks, stage_of(1, 2)), delay(1)});
}

Time us(double microseconds) { return from_us(microseconds); }

void change_costs_at_random(Rerun& rerun) {
  const Plan& plan = rerun.plan();
  const Time time{random_below(4'000'000)};
  const auto work = random_below(static_cast<std::uint32_t>(plan.classes.size()));
  switch (random_below(4)) {
    case 0:
      rerun.set_duration(work, time);
      return;
    case 1:
      rerun.set_latency(work, time);
      return;
    case 2:
      rerun.set_task_duration(random_below(plan.tasks()), time);
      return;
    default:
      rerun.set_bandwidth(random_below(2), 1e8 * (1 + random_below(30)));
  }
}

/// Other times of some classes, of a task, and of launches. Second parts of cells take none.
Costs random_costs(const Plan& plan, Costs costs) {
  for (Time& duration : costs.duration) {
    if (random_below(4) == 0) duration = Time{random_below(4'000'000)};
  }
  if (random_below(4) == 0) {
    costs.task_duration.clear();
    for (const std::uint32_t work : plan.work) costs.task_duration.push_back(costs.duration[work]);
  }
  if (!costs.task_duration.empty()) {
    costs.task_duration[random_below(plan.tasks())] = Time{random_below(4'000'000)};
  }
  if (random_below(4) == 0) costs.issue = Time{random_below(900'000)};
  for (const TaskId second : plan.followers) {
    costs.duration[plan.work[second]] = {};
    if (!costs.task_duration.empty()) costs.task_duration[second] = {};
  }
  return costs;
}

}  // namespace

TEST_CASE("whatever changes in what things cost, the timeline is that of a full run") {
  CHECK(rc::check([] {
    const bool launches = random_below(2) == 1;
    auto rerun = rerun_of(random_system(), {}, Time{launches ? random_below(900'000) : 0},
                          Time{launches ? random_below(900'000) : 0});
    for (int i = 0; i < 6; ++i) {
      change_costs_at_random(*rerun);
      RC_ASSERT(is_full_run(*rerun));
    }
  }));
}

TEST_CASE("under conditions, too; a change after which nothing would end is not made") {
  CHECK(rc::check([] {
    System system = random_system();
    system.hardware = link(0, 1e9);
    const Plan plan = lowered(system);
    auto rerun = rerun_of(system, random_conditions(plan, priced(system, plan)));
    if (!rerun) return;
    for (int i = 0; i < 6; ++i) {
      change_costs_at_random(*rerun);
      RC_ASSERT(is_full_run(*rerun));
    }
  }));
}

TEST_CASE("all costs at once, of classes or of tasks, give the timeline of a full run") {
  CHECK(rc::check([] {
    const bool launches = random_below(2) == 1;
    System system = random_system();
    if (random_below(2) == 1) system.hardware = link(0, 1e9);
    const Plan plan = lowered(system);
    const Conditions conditions =
        random_below(2) == 1 ? random_conditions(plan, priced(system, plan)) : Conditions{};
    auto rerun = rerun_of(system, conditions, Time{launches ? random_below(900'000) : 0},
                          Time{launches ? random_below(900'000) : 0});
    if (!rerun) return;
    for (int i = 0; i < 6; ++i) {
      rerun->set_costs(random_costs(rerun->plan(), rerun->costs()));
      RC_ASSERT(is_full_run(*rerun));
      change_costs_at_random(*rerun);
      RC_ASSERT(is_full_run(*rerun));
    }
  }));
}

TEST_CASE(
    "costs that are those already known run nothing again, those of another plan are refused") {
  Rerun rerun = one_f_one_b(8, 256);
  CHECK(looked_at(rerun.set_costs(rerun.costs())) == 0);
  Costs costs = rerun.costs();
  costs.duration.push_back(us(1));
  CHECK(rerun_refusal(rerun.set_costs(costs)) == "the costs belong to another plan");
  costs = rerun.costs();
  costs.latency.back() = Time{-1};
  CHECK(rerun_refusal(rerun.set_costs(costs)) == "a time must not be negative");
  costs = rerun.costs();
  costs.duration.front() = Time{4'600'000'000'000'000'000};
  CHECK(rerun_refusal(rerun.set_costs(costs)).starts_with("the times of all tasks"));
  CHECK(is_full_run(rerun));
  // The last B of rank 0 is the last task.
  costs = rerun.costs();
  for (const std::uint32_t work : rerun.plan().work) {
    costs.task_duration.push_back(costs.duration[work]);
  }
  costs.task_duration.back() = us(3);
  CHECK(looked_at(rerun.set_costs(costs)) == 1);
  CHECK(is_full_run(rerun));
}

TEST_CASE(
    "a change late in a long pipeline looks at few tasks, and one that changes nothing at one") {
  // Eight ranks, 256 microbatches. Behind the last B of stage 1 come its transfer and the last B of
  // stage 0, and nothing else.
  Rerun rerun = one_f_one_b(8, 256);
  CHECK(rerun.plan().tasks() == 256 * (16 + 14));
  CHECK(looked_at(rerun.set_task_duration(task_of(rerun.plan(), "1B255"), us(3))) == 3);
  CHECK(is_full_run(rerun));
  CHECK(looked_at(rerun.set_task_duration(task_of(rerun.plan(), "1B255"), us(3))) == 1);
}

TEST_CASE("a change that moves nearly everything is a full pass") {
  Rerun rerun = one_f_one_b(8, 256);
  const Plan& plan = rerun.plan();
  const std::uint32_t work = plan.work[task_of(plan, "0F0")];
  CHECK(looked_at(rerun.set_duration(work, us(4))) == plan.tasks());
  CHECK(is_full_run(rerun));
}

TEST_CASE("a class, a latency and one task changed, by hand") {
  // Two ranks, two microbatches, links delay by 1 us. F takes 1 us, B 2 us:
  //   rank 0: F0 0-1, F1 1-2,                     B0 6-8, B1 9-11
  //   rank 1:         F0 2-3, B0 3-5, F1 5-6, B1 6-8
  Rerun rerun = one_f_one_b(2, 2);
  const auto span = [&](std::string_view task) {
    return span_text({rerun.plan(), rerun.costs(), rerun.timeline(), {}}, task);
  };
  const auto class_of = [&](std::string_view task) {
    return rerun.plan().work[task_of(rerun.plan(), task)];
  };
  CHECK(span("0B1") == "0B1 9-11");
  // Each F of stage 1 takes 3 us: F0 2-5, B0 5-7, F1 7-10, B1 10-12.
  rerun.set_duration(class_of("1F0"), us(3));
  CHECK(span("1B1") == "1B1 10-12");
  CHECK(span("0B1") == "0B1 13-15");
  // Gradients take 3 us to arrive: B0 10-12, B1 15-17.
  rerun.set_latency(class_of("1SEND_B0"), us(3));
  CHECK(span("0B0") == "0B0 10-12");
  CHECK(span("0B1") == "0B1 15-17");
  // Of the B's of stage 0 the first takes 10 us: B0 10-20, B1 20-22.
  rerun.set_task_duration(task_of(rerun.plan(), "0B0"), us(10));
  CHECK(span("0B1") == "0B1 20-22");
}

TEST_CASE("a physical link that carries half takes twice as long, where it is the slowest") {
  // F takes 1 us; 4,000 bytes over 4e9, then 1e9 bytes/s: 4 us. With the first link at 0.5e9 they
  // take 8 us; at 2e9 the second is the slowest again.
  Layer stage = stage_of(1, 1);
  stage.activation_bytes = 4000;
  Conditions conditions;
  conditions.network.links = {{"first", 4e9, 0}, {"second", 1e9, 0}};
  conditions.network.routes = {{0, 1}};
  auto rerun = rerun_of({Placement::loop(2, 1), order_of("0F0\n1F0"), {stage, stage}, link(0, 1e9)},
                        conditions);
  const auto sent = [&] {
    return span_text({rerun->plan(), rerun->costs(), rerun->timeline(), {}}, "0SEND_F0");
  };
  CHECK(sent() == "0SEND_F0 1-5");
  rerun->set_bandwidth(0, 0.5e9);
  CHECK(sent() == "0SEND_F0 1-9");
  rerun->set_bandwidth(0, 2e9);
  CHECK(sent() == "0SEND_F0 1-5");
  CHECK(rerun_refusal(rerun->set_bandwidth(2, 1e9)) == "unknown physical link 2; there are 2");
  CHECK(rerun_refusal(rerun->set_bandwidth(0, 0)) ==
        "0 bytes per second: a bandwidth must be finite and above 0");
  rerun->set_task_duration(task_of(rerun->plan(), "0SEND_F0"), us(5));
  CHECK(rerun_refusal(rerun->set_bandwidth(0, 1e9)) ==
        "transfers from rank 0 to rank 1 do not take the time of their slowest link");
}

TEST_CASE("what is missing, or would take longer than the clock runs, is refused") {
  Rerun rerun = one_f_one_b(2, 2);
  const std::uint32_t forward = rerun.plan().work[task_of(rerun.plan(), "0F0")];
  CHECK(rerun_refusal(rerun.set_duration(8, us(1))) == "unknown work class 8; there are 6");
  CHECK(rerun_refusal(rerun.set_task_duration(12, us(1))) == "unknown task 12; there are 12");
  CHECK(rerun_refusal(rerun.set_latency(forward, us(1))) == "only transfers have a latency");
  CHECK(rerun_refusal(rerun.set_duration(forward, Time{-1})) == "a time must not be negative");
  // Two F's of 4.6e18 ps each are beyond it, one alone is not.
  const Time long_time{4'600'000'000'000'000'000};
  CHECK(
      rerun_refusal(rerun.set_duration(forward, long_time)).starts_with("the times of all tasks"));
  CHECK(looked_at(rerun.set_task_duration(0, long_time)) > 0);
  CHECK(rerun_refusal(rerun.set_task_duration(1, long_time)).starts_with("the times of all tasks"));
  CHECK(is_full_run(rerun));
}

TEST_CASE("a cell of two fused actions takes what its first part is given") {
  // F 2 us and B 5 us in one cell from 2 to 7; given 6 us, the cell ends at 8, as do both parts.
  auto rerun = *rerun_of({Placement::loop(1, 1),
                          order_of("0F0,(0F1;0B0)OVERLAP_F_B,0B1"),
                          {stage_of(2, 5)},
                          {},
                          Overlap::fused});
  const TaskId first = task_of(rerun.plan(), "0F1");
  CHECK(looked_at(rerun.set_task_duration(first, us(6))) == 3);
  for (const TaskId part : {first, first + 1}) {
    CHECK(to_us(rerun.timeline().begin[part]) == 2);
    CHECK(to_us(rerun.timeline().end[part]) == 8);
  }
  CHECK(rerun_refusal(rerun.set_task_duration(first + 1, us(6))) ==
        "the second part of a fused cell takes as long as the first");
}

}  // namespace penstock::testing
