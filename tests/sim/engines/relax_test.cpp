#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

#include "sim/costs/chance.hpp"
#include "sim/engines/events.hpp"
#include "tests/support/naive_run.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

/// The spans of all tasks by their text.
std::map<std::string, Span> spans_of(const Outcome& outcome) {
  std::map<std::string, Span> spans;
  for (TaskId task = 0; task < outcome.plan.tasks(); ++task) {
    spans[task_text(outcome.plan, task)] = {outcome.timeline.begin[task],
                                            outcome.timeline.end[task]};
  }
  return spans;
}

/// The same system with rank r called `name[r]`.
System renamed(const System& system, const std::vector<std::uint32_t>& name) {
  const Placement& old = system.placement;
  std::vector<std::vector<Rank>> on;
  for (Stage stage : old.stages()) {
    on.emplace_back();
    for (Microbatch replica : Numbers<Microbatch>(old.replicas(stage))) {
      on.back().push_back(Rank{name[index(old.rank_of(stage, replica))]});
    }
  }
  System other = system;
  other.placement = Placement::given(old.ranks(), on, old.chains());
  for (Rank rank : Numbers<Rank>(old.ranks())) {
    other.schedule.on(Rank{name[index(rank)]}) = system.schedule.on(rank);
  }
  return other;
}

std::vector<std::uint32_t> random_names(std::uint32_t ranks) {
  std::vector<std::uint32_t> names(ranks);
  std::iota(names.begin(), names.end(), 0U);
  for (std::uint32_t r = ranks; r > 1; --r) {
    std::swap(names[r - 1], names[*rc::gen::inRange<std::uint32_t>(0, r)]);
  }
  return names;
}

std::uint32_t up_to(std::uint32_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, most + 1));
}

/// Jitter, a straggler and a slow link, or some of them.
Chance random_chance(const Placement& placement) {
  const auto rank = [&] { return Rank{up_to(placement.ranks() - 1)}; };
  Chance chance{.seed = up_to(1000), .jitter = up_to(3) * 0.1, .transfer_jitter = up_to(2) * 0.2};
  if (up_to(1) == 1) chance.stragglers.push_back({rank(), 1.5, Microbatch{up_to(2)}});
  if (up_to(1) == 1) chance.slow_links.push_back({rank(), rank(), 3});
  return chance;
}

/// What costs say of each task, by its text.
Disturbance disturbance_of(const Plan& plan, const Costs& costs) {
  Disturbance all{.issue = costs.issue, .launch = costs.launch};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    all.duration[task_text(plan, task)] = costs.duration_of(plan, task);
    all.latency[task_text(plan, task)] = costs.latency_of(plan, task);
  }
  return all;
}

/// Runs a system with launches.
Outcome launched(const System& system, double issue_us, double launch_us) {
  PricedPlan all = priced(system);
  all.costs.issue = from_us(issue_us);
  all.costs.launch = from_us(launch_us);
  return simulated(all);
}

}  // namespace

TEST_CASE("any order runs to the picosecond as it does event by event") {
  CHECK(rc::check([] {
    const System system = random_system();
    const NaiveRun naive = run_naively(system);
    const Outcome outcome = simulated(system);
    RC_ASSERT(naive.finished);
    RC_ASSERT(outcome.report.makespan == naive.makespan);
    for (const auto& [task, span] : spans_of(outcome)) {
      RC_LOG() << task << '\n';
      const Span expected = naive.span.at(task);
      RC_ASSERT(span.begin.picoseconds == expected.begin.picoseconds);
      RC_ASSERT(span.end.picoseconds == expected.end.picoseconds);
    }
    RC_ASSERT(naive.span.size() == outcome.plan.tasks());
  }));
}

TEST_CASE("the numbers of the ranks decide nothing: renamed, everything runs at the same times") {
  CHECK(rc::check([] {
    const System system = random_system();
    const System other = renamed(system, random_names(system.placement.ranks()));
    RC_ASSERT(spans_of(simulated(system)) == spans_of(simulated(other)));
  }));
}

TEST_CASE("a timeline that is used again keeps nothing of the run before") {
  // Two ranks, f = 1, b = 2: four microbatches take (4 + 1) * 3 = 15, one takes 6.
  const auto pipeline = [](const char* csv) {
    return priced(a_stage_each(csv, {stage_of(1, 2), stage_of(1, 2)}));
  };
  const PricedPlan four =
      pipeline("0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3");
  const PricedPlan one = pipeline("0F0,0B0\n1F0,1B0");
  Timeline timeline = relax(four);
  CHECK(to_us(makespan(four.plan, timeline)) == 15);
  timeline.memory.push_back({Rank{0}, Time{1}, 1});
  timeline = relax(one, std::move(timeline));
  CHECK(to_us(makespan(one.plan, timeline)) == 6);
  CHECK(timeline.begin.size() == one.plan.tasks());
  CHECK(timeline.memory.empty());
}

TEST_CASE("transfers of one link go one after the other, and arrive later by its latency") {
  // 8,000 bytes at 2e9 bytes/s hold the link 4 us; latency 1 us; f = 1. Rank 0 gives both
  // activations away by 2: they leave at 1 and 5, and arrive at 6 and 10.
  Layer stage{.forward_us = 1, .backward_us = 1, .activation_bytes = 8000};
  const Outcome outcome = simulated(a_stage_each("0F0,0F1\n1F0,1F1", {stage, stage}, link(1, 2e9)));
  check_spans(outcome, {"0SEND_F0 1-6", "0SEND_F1 5-10", "1F0 6-7", "1F1 10-11"});
}

TEST_CASE("a pure delay holds nothing: transfers travel side by side") {
  // f = 1, delay 4: the activations leave at 1 and 2, and arrive at 5 and 6.
  const Outcome outcome =
      simulated(a_stage_each("0F0,0F1\n1F0,1F1", {stage_of(1, 1), stage_of(1, 1)}, delay(4)));
  check_spans(outcome, {"1F0 5-6", "1F1 6-7"});
}

TEST_CASE("an overlap cell runs its parts in listed order, or as one as long as the longer") {
  // One rank, f = 2, b = 5: F0 ends at 2, then the cell of F1 and B0.
  const auto cell = [](const char* csv, Overlap overlap) {
    return simulated(a_stage_each(csv, {stage_of(2, 5)}, {}, overlap));
  };
  const char* f_first = "0F0,(0F1;0B0)OVERLAP_F_B,0B1";
  const char* b_first = "0F0,(0B0;0F1)OVERLAP_F_B,0B1";
  check_spans(cell(f_first, Overlap::serial), {"0F1 2-4", "0B0 4-9"});
  check_spans(cell(b_first, Overlap::serial), {"0B0 2-7", "0F1 7-9"});
  for (const char* either : {f_first, b_first}) {
    const Outcome fused = cell(either, Overlap::fused);
    check_spans(fused, {"0F1 2-7", "0B0 2-7"});
    CHECK(to_us(fused.report.makespan) == 12);
    CHECK(to_us(fused.report.ranks[0].busy) == 12);
  }
}

TEST_CASE("an overlap cell waits for the inputs of both its parts") {
  // Two ranks, f = 1, b = 2, delay 3. On rank 0, 0F1 could start at 1, but stands in one cell with
  // 0B0, whose gradient arrives at 1 + 3 + 1 + 2 + 3 = 10.
  const Outcome outcome = simulated(a_stage_each("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1",
                                                 {stage_of(1, 2), stage_of(1, 2)}, delay(3)));
  check_spans(outcome, {"0F1 10-11", "0B0 11-13"});
}

TEST_CASE("with chance and launches, too, any order runs to the picosecond as event by event") {
  CHECK(rc::check([] {
    const System system = random_system();
    const Plan plan = lowered(system);
    Costs costs = draw(plan, priced(system, plan), random_chance(system.placement), up_to(9));
    costs.issue = from_us(up_to(3) * 0.25);
    costs.launch = from_us(up_to(4) * 0.5);
    const NaiveRun naive = run_naively(system, disturbance_of(plan, costs));
    const Timeline timeline = relax({plan, costs});
    RC_ASSERT(naive.finished);
    RC_ASSERT(naive.span.size() == plan.tasks());
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const Span expected = naive.span.at(task_text(plan, task));
      RC_LOG() << task_text(plan, task) << '\n';
      RC_ASSERT(timeline.begin[task].picoseconds == expected.begin.picoseconds);
      RC_ASSERT(timeline.end[task].picoseconds == expected.end.picoseconds);
    }
    const Report report = summarize(plan, costs, timeline);
    for (const RankReport& rank : report.ranks) {
      RC_ASSERT(rank.idle_by_cause.total() == rank.idle);
    }
  }));
}

TEST_CASE("an action starts when its rank is free, its inputs are there and it was launched") {
  // f = 1, b = 1, delay 1; issue 2, launch 3: the k-th action of a rank can start at 2 (k + 1) + 3.
  //   rank 0: F0 at 5 and F1 at 7, when they are launched; B0 was launched at 9 and has its
  //   gradient
  //           at 10, B1 at 11 and 13
  //   rank 1: F0 was launched at 5 and has its input at 7; B0 was launched at 7, the rank is free
  //           at 8; F1 was launched at 9, when its input comes; B1 waits for its launch at 11
  const System system =
      a_stage_each("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", {stage_of(1, 1), stage_of(1, 1)}, delay(1));
  const Outcome outcome = launched(system, 2, 3);
  check_spans(outcome, {"0F0 5-6", "1F0 7-8", "0F1 7-8", "1B0 8-9", "1F1 9-10", "0B0 10-11",
                        "1B1 11-12", "0B1 13-14"});
}

TEST_CASE("issued ahead, a launch delays only the first action; issued slowly, it delays each") {
  // One rank, four actions of 1 us: launch 5 alone ends at 5 + 4; an issue of 3 alone ends when the
  // fourth has been issued at 12 and has run.
  const System system = a_stage_each("0F0,0F1,0B0,0B1", {stage_of(1, 1)});
  const Outcome ahead = launched(system, 0, 5);
  CHECK(to_us(ahead.report.makespan) == 9);
  CHECK(to_us(ahead.report.ranks[0].idle_by_cause.warmup) == 5);
  CHECK(to_us(ahead.report.ranks[0].idle_by_cause.launch) == 0);
  const Outcome slowly = launched(system, 3, 0);
  CHECK(to_us(slowly.report.makespan) == 13);
  CHECK(to_us(slowly.report.ranks[0].idle_by_cause.warmup) == 3);
  CHECK(to_us(slowly.report.ranks[0].idle_by_cause.launch) == 3 * 2);
  CHECK(slowly.report.ranks[0].idle_by_cause.total() == slowly.report.ranks[0].idle);
}

TEST_CASE("a fused overlap cell is one launch, a serial one two") {
  // One rank, f = b = 1, issue 10: F0 at 10, then the cell, then B1. Fused: 20 and 30. Serial: its
  // parts at 20 and 30, and B1 at 40.
  const auto cell = [](Overlap overlap) {
    const System system =
        a_stage_each("0F0,(0F1;0B0)OVERLAP_F_B,0B1", {stage_of(1, 1)}, {}, overlap);
    return launched(system, 10, 0);
  };
  check_spans(cell(Overlap::fused), {"0B0 20-21", "0B1 30-31"});
  check_spans(cell(Overlap::serial), {"0F1 20-21", "0B0 30-31", "0B1 40-41"});
}

}  // namespace penstock::testing
