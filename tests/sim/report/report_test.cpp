#include "sim/report/report.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "tests/support/random_system.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

std::string report_path_text(const Outcome& outcome) {
  std::string text;
  for (const TaskId task : tasks_of(outcome.report.critical_path)) {
    text += (text.empty() ? "" : " ") + task_text(outcome.plan, task);
  }
  return text;
}

/// When the resource of a task is free again: a link at the end of the transfer's hold, before it
/// arrives.
Time let_go(const Outcome& outcome, TaskId task) {
  return outcome.timeline.begin[task] + outcome.costs.duration[outcome.plan.work[task]];
}

/// Whether each step of the critical path begins in the moment in which the one in front lets it.
bool is_contiguous(const Outcome& outcome) {
  Time at{};
  TaskId before = no_task;
  for (const TaskId task : tasks_of(outcome.report.critical_path)) {
    const auto resource_of = [&](TaskId of) { return outcome.plan.class_of(of).resource; };
    const bool queued = before != no_task && outcome.plan.is_link(resource_of(task)) &&
                        resource_of(task) == resource_of(before);
    if (outcome.timeline.begin[task] != (queued ? let_go(outcome, before) : at)) return false;
    at = outcome.timeline.end[task];
    before = task;
  }
  return at == outcome.report.makespan;
}

std::optional<double> interval_of(const System& system) {
  const Outcome outcome = simulated(system);
  return steady_interval_us(outcome.plan, outcome.timeline);
}

}  // namespace

TEST_CASE("1f1b on two equal ranks: fill, a wait between, drain") {
  // f = 1, b = 2, m = 2, free links.
  //   rank 0: F0 0-1, F1 1-2, (2 idle), B0 4-6, (1 idle), B1 7-9
  //   rank 1: (1 idle), F0 1-2, B0 2-4, F1 4-5, B1 5-7, (2 idle)
  const Report report =
      simulated(a_stage_each("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", {stage_of(1, 2), stage_of(1, 2)}))
          .report;
  CHECK(to_us(report.makespan) == 9);
  CHECK(to_us(report.ranks[0].start) == 0);
  CHECK(to_us(report.ranks[0].end) == 9);
  CHECK(to_us(report.ranks[1].start) == 1);
  CHECK(to_us(report.ranks[1].end) == 7);
  for (const RankReport& rank : report.ranks) {
    CHECK(to_us(rank.busy) == 6);
    CHECK(to_us(rank.idle) == 3);
    CHECK(rank.actions == 4);
  }
  CHECK(causes_text(report.ranks[0].idle_by_cause) == "dependency 3");
  CHECK(causes_text(report.ranks[1].idle_by_cause) == "warmup 1 drain 2");
}

TEST_CASE("the three bubbles differ, and each is what its name says") {
  // GPipe, m = 2, stages (f, b) = (1, 2) and (2, 4).
  //   rank 0: F0 0-1, F1 1-2, B0 9-11, B1 13-15: busy 6, span 15
  //   rank 1: F0 1-3, F1 3-5, B0 5-9, B1 9-13: busy 12, span 12
  const Bubble gpipe =
      simulated(a_stage_each("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1", {stage_of(1, 2), stage_of(2, 4)}))
          .report.bubble;
  CHECK(gpipe.of_makespan == doctest::Approx(1 - 18.0 / (2 * 15)));
  CHECK(gpipe.over_ideal == doctest::Approx(15.0 / 12 - 1));
  CHECK(gpipe.of_longest_span == doctest::Approx(1 - 12.0 / 15));
  // The forwards alone: rank 0 works from 0 to 2, rank 1 without a pause from 1 to 5.
  const Bubble forward =
      simulated(a_stage_each("0F0,0F1\n1F0,1F1", {stage_of(1, 2), stage_of(2, 4)})).report.bubble;
  CHECK(forward.of_makespan == doctest::Approx(1 - 6.0 / (2 * 5)));
  CHECK(forward.over_ideal == doctest::Approx(5.0 / 4 - 1));
  CHECK(forward.of_longest_span == doctest::Approx(0));
}

TEST_CASE("ranks that work for no time idle for all of the makespan") {
  // Two stages that take no time, 3 us apart: at any moment nobody works.
  const Report report =
      simulated(a_stage_each("0F0\n1F0", {stage_of(0, 0), stage_of(0, 0)}, delay(3))).report;
  CHECK(to_us(report.makespan) == 3);
  CHECK(report.bubble.of_makespan == 1);
  // With no time at all there is no bubble either.
  const Report nothing = simulated(a_stage_each("0F0", {stage_of(0, 0)})).report;
  CHECK(nothing.bubble.of_makespan == 0);
}

TEST_CASE("a rank without actions drains from the start") {
  System system{Placement::given(2, {{Rank{0}}}, {{Stage{0}}}), Schedule(2), {stage_of(4, 0)}};
  system.schedule.on(Rank{0}) = actions_of("0F0");
  const Report report = simulated(system).report;
  CHECK(to_us(report.ranks[1].idle) == 4);
  CHECK(causes_text(report.ranks[1].idle_by_cause) == "drain 4");
}

TEST_CASE("a gap behind a slow producer and a delay splits into dependency and transfer") {
  // Forwards of 5 and 1 us, delay 3. Rank 0: F0 0-5, F1 5-10. Rank 1: F0 arrives at 8, runs 8-9;
  // F1 arrives at 13: from 9 to 10 it is still being made, from 10 to 13 on its way.
  const Report report =
      simulated(a_stage_each("0F0,0F1\n1F0,1F1", {stage_of(5, 0), stage_of(1, 0)}, delay(3)))
          .report;
  CHECK(causes_text(report.ranks[0].idle_by_cause) == "drain 4");
  CHECK(causes_text(report.ranks[1].idle_by_cause) == "warmup 8 dependency 1 transfer 3");
}

TEST_CASE("a gap behind a transfer that queued on its link shows the contention") {
  // Forwards of 1 us; a transfer holds its link 4 us and arrives 1 us later. Two chains, so that
  // rank 1 has work of its own (2F2) and rank 0 ends with the other chain. Rank 0 gives activations
  // away at 1 and 2; the second leaves at 5 and arrives at 10. Rank 1 wants that one first: from 1
  // to 2 it is being made, to 5 it queues, to 10 it travels. 2F2 travels from 1 to 6.
  Layer stage{.forward_us = 1, .backward_us = 0, .activation_bytes = 4000};
  const Outcome outcome = simulated({Placement::bidirectional(2),
                                     order_of("0F0,0F1,3F2\n2F2,1F1,1F0"),
                                     {stage, stage},
                                     link(1, 1e9)});
  const Report& report = outcome.report;
  CHECK(to_us(report.makespan) == 12);
  CHECK(causes_text(report.ranks[0].idle_by_cause) == "drain 5 transfer 4");
  CHECK(causes_text(report.ranks[1].idle_by_cause) == "dependency 1 contention 3 transfer 5");
  // F0's transfer held the link against F1's; on the way back to the start it is the first to
  // blame.
  CHECK(report_path_text(outcome) == "0F0 0SEND_F0 0SEND_F1 1F1 1F0");
  // Each link carries its own direction: two tensors one way, one the other.
  REQUIRE(report.links.size() == 2);
  const auto there = report.links[0].link == Link{Rank{0}, Rank{1}} ? 0U : 1U;
  CHECK(report.links[there].link == Link{Rank{0}, Rank{1}});
  CHECK(report.links[there].transfers == 2);
  CHECK(report.links[there].bytes == 8000);
  CHECK(to_us(report.links[there].busy) == 8);
  CHECK(report.links[1 - there].link == Link{Rank{1}, Rank{0}});
  CHECK(report.links[1 - there].transfers == 1);
}

TEST_CASE("the parts of a fused cell are busy once") {
  // One rank, f = 2, b = 5: F0, F1 and B0 as one of length 5, B1: 2 + 5 + 5.
  const Report report =
      simulated(a_stage_each("0F0,(0F1;0B0)OVERLAP_F_B,0B1", {stage_of(2, 5)}, {}, Overlap::fused))
          .report;
  CHECK(to_us(report.ranks[0].busy) == 12);
  CHECK(to_us(report.ranks[0].idle) == 0);
  CHECK(report.ranks[0].actions == 4);
}

TEST_CASE("the critical path of a slow last stage runs up, along it, and back") {
  // Stages (1, 1) and (3, 3), m = 2: rank 1 is never idle from 1 to 13, and rank 0 ends last.
  const Outcome outcome =
      simulated(a_stage_each("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", {stage_of(1, 1), stage_of(3, 3)}));
  CHECK(report_path_text(outcome) == "0F0 0SEND_F0 1F0 1B0 1F1 1B1 1SEND_B1 0B1");
}

TEST_CASE("in any run the idle time of a rank is makespan - busy, and its causes add up to it") {
  CHECK(rc::check([] {
    const Outcome outcome = simulated(random_system());
    for (const RankReport& rank : outcome.report.ranks) {
      RC_ASSERT(rank.idle == outcome.report.makespan - rank.busy);
      RC_ASSERT(rank.idle_by_cause.total() == rank.idle);
      // Nothing stalls and nothing is launched late in this engine.
      RC_ASSERT(rank.idle_by_cause.memory == Time{});
      RC_ASSERT(rank.idle_by_cause.launch == Time{});
      for (const Time cause :
           {rank.idle_by_cause.warmup, rank.idle_by_cause.drain, rank.idle_by_cause.dependency,
            rank.idle_by_cause.contention, rank.idle_by_cause.transfer}) {
        RC_ASSERT(cause >= Time{});
      }
    }
  }));
}

TEST_CASE("in any run the critical path leads without a gap from the start to the makespan") {
  CHECK(rc::check([] {
    const Outcome outcome = simulated(random_system());
    RC_ASSERT(!outcome.report.critical_path.empty());
    RC_ASSERT(is_contiguous(outcome));
  }));
}

TEST_CASE("in any run busy is the sum of the cells, a fused one counted as its longer part") {
  CHECK(rc::check([] {
    const Outcome outcome = simulated(random_system());
    std::vector<Time> busy(outcome.plan.ranks);
    for (TaskId task = 0; task < outcome.plan.tasks(); ++task) {
      const std::uint32_t resource = outcome.plan.class_of(task).resource;
      if (!outcome.plan.is_link(resource)) {
        busy[resource] += outcome.costs.duration[outcome.plan.work[task]];
      }
    }
    for (std::size_t r = 0; r < busy.size(); ++r) {
      RC_ASSERT(outcome.report.ranks[r].busy == busy[r]);
      RC_ASSERT(outcome.report.makespan >= busy[r]);
    }
  }));
}

TEST_CASE("a report of times alone has the times and bubbles of the whole report") {
  CHECK(rc::check([] {
    const Outcome outcome = simulated(random_system());
    const Report times = summarize_times(outcome.plan, outcome.timeline);
    RC_ASSERT(times.makespan == outcome.report.makespan);
    RC_ASSERT(times.bubble.of_makespan == outcome.report.bubble.of_makespan);
    RC_ASSERT(times.bubble.over_ideal == outcome.report.bubble.over_ideal);
    RC_ASSERT(times.bubble.of_longest_span == outcome.report.bubble.of_longest_span);
    for (std::size_t r = 0; r < times.ranks.size(); ++r) {
      RC_ASSERT(times.ranks[r].idle == outcome.report.ranks[r].idle);
      RC_ASSERT(times.ranks[r].start == outcome.report.ranks[r].start);
    }
  }));
}

TEST_CASE("a physical link carries what the links of the plan carry over it") {
  // Three microbatches of 4,000 bytes go from 0 to 1 over "a" and "b", of 2,000 from 1 to 2 over
  // "b". In 24 us "a" could carry 48,000 bytes and carries 12,000: 25 %; "b" 24,000 and 18,000:
  // 75 %. Nothing goes over "c".
  Layer first = stage_of(1, 1), second = stage_of(1, 1);
  first.activation_bytes = 4000;
  second.activation_bytes = 2000;
  const PricedPlan all = priced(
      a_stage_each("0F0,0F1,0F2\n1F0,1F1,1F2\n2F0,2F1,2F2", {first, second, stage_of(1, 1)}));
  REQUIRE(all.plan.links == std::vector<Link>{{Rank{0}, Rank{1}}, {Rank{1}, Rank{2}}});
  const Network network{{{"a", 2e9}, {"c", 1e9}, {"b", 1e9}}, {{0, 2}, {2}}};
  const auto use = network_use(all.plan, all.costs, network, from_us(24));
  REQUIRE(use.size() == 2);
  CHECK(use[0].name == "a");
  CHECK(use[0].transfers == 3);
  CHECK(use[0].bytes == 12000);
  CHECK(use[0].utilization == doctest::Approx(0.25));
  CHECK(use[1].name == "b");
  CHECK(use[1].transfers == 6);
  CHECK(use[1].bytes == 18000);
  CHECK(use[1].utilization == doctest::Approx(0.75));
  CHECK(network_use(all.plan, all.costs, {}, from_us(24)).empty());
}

TEST_CASE("a physical link carries the transfers of all its sharers, each at its share") {
  // Two microbatches of 3,000 bytes from each of two sharers, at 1,000 bytes/us for each of them:
  // 12,000 bytes in 24 us over a link for 2,000 bytes/us.
  Layer first{.forward_us = 1, .backward_us = 1, .activation_bytes = 3000};
  const PricedPlan all = priced(a_stage_each("0F0,0F1\n1F0,1F1", {first, stage_of(1, 1)}));
  const Network network{{{"nic", 1e9, 0, 2}}, {{0}}};
  const auto use = network_use(all.plan, all.costs, network, from_us(24));
  REQUIRE(use.size() == 1);
  CHECK(use[0].transfers == 4);
  CHECK(use[0].bytes == 12000);
  CHECK(use[0].utilization == doctest::Approx(0.25));
}

TEST_CASE("the steady interval leaves out as many at either end as are in flight") {
  // One rank, f = 1, b = 2; two microbatches enter before the first leaves. They leave at 4, 7, 10,
  // 13, 16 and 18: between the two at either end, 10 and 13, there are 3.
  const Placement one = Placement::loop(1, 1);
  CHECK(interval_of(
            {one, order_of("0F0,0F1,0B0,0F2,0B1,0F3,0B2,0F4,0B3,0F5,0B4,0B5"), {stage_of(1, 2)}}) ==
        3);
  // With five there is one left, which has no interval.
  CHECK_FALSE(
      interval_of({one, order_of("0F0,0F1,0B0,0F2,0B1,0F3,0B2,0F4,0B3,0B4"), {stage_of(1, 2)}}));
  CHECK_FALSE(interval_of({one, order_of("0F0,0F1"), {stage_of(1, 2)}}));
}

TEST_CASE("with replicas the steady interval goes over whole turns") {
  // Two replicas of the one stage, f = 1, b = 2, the second with two microbatches less to wait for:
  // they leave two at a time, at 3, 6, 9 and 12. Two are passed over at either end; between the
  // last of what is left, 9, and two before it, 6, there are 3 for two microbatches.
  const Placement pair = Placement::given(2, {{Rank{0}, Rank{1}}}, {{Stage{0}}});
  const char* csv =
      "0F0,0B0,0F2,0B2,0F4,0B4,0F6,0B6,0F8,0B8\n0F1,0B1,0F3,0B3,0F5,0B5,0F7,0B7,0F9,0B9";
  CHECK(interval_of({pair, order_of(csv), {stage_of(1, 2)}}) == 1.5);
  // Of eight microbatches four are left: their first and last are no whole period of two apart but
  // three, which is cut to two.
  const char* eight = "0F0,0B0,0F2,0B2,0F4,0B4,0F6,0B6\n0F1,0B1,0F3,0B3,0F5,0B5,0F7,0B7";
  CHECK(interval_of({pair, order_of(eight), {stage_of(1, 2)}}) == 1.5);
}

TEST_CASE("the bubble holds for busy time of all ranks beyond the clock") {
  // Twelve ranks of 1e18 ps each; the clock ends at 9.2e18.
  Report report{.makespan = Time{2'000'000'000'000'000'000}};
  report.ranks.resize(12);
  for (RankReport& rank : report.ranks) rank.busy = rank.end = Time{1'000'000'000'000'000'000};
  CHECK(bubble_of(report).of_makespan == 0.5);
}

}  // namespace penstock::testing
