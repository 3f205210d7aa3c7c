#include "schedules/patterns/offload.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "experiments/input/formats/traces/trace_events.hpp"
#include "sim/base/error.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/support/naive_run.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/ruled_system.hpp"

namespace penstock::testing {
namespace {

std::string row_text(const std::vector<Action>& row) {
  std::string all;
  for (const Action& action : row) all += (all.empty() ? "" : " ") + text(action);
  return all;
}

/// The row of one rank's stage 0 with activations moved, or why it is refused.
std::string moved(const char* csv, Offload offload) {
  return refused_with<RuleError>(
      [&] { return row_text(offloaded_row(order_of(csv).on(Rank{0}), Rank{0}, offload)); });
}

std::string refusal(const Schedule& schedule) {
  return refused_with<RuleError>([&] { offloaded(schedule, {.keep = 2}); });
}

System pipeline(const char* name, std::uint32_t ranks, std::uint32_t microbatches,
                const Layer& stage = stage_of(1, 2)) {
  return system_of(name, {ranks, 1, microbatches}, stage);
}

std::uint32_t most_held(const Report& report) {
  std::uint32_t most = 0;
  for (const RankReport& rank : report.ranks) most = std::max(most, rank.peak_activations);
  return most;
}

/// A stage of f = 1 and b = 2 whose activations take so many bytes.
Layer stage_with_stash(double bytes) {
  Layer stage{.forward_us = 1, .backward_us = 2, .stash_bytes = bytes};
  return stage;
}

std::uint32_t random_number(std::uint32_t first, std::uint32_t last) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, last + 1));
}

/// Whether a system can do with so few activations; then it does.
bool offload(System& system, Offload offload) {
  try {
    system.schedule = offloaded(system.schedule, offload);
    return true;
  } catch (const RuleError&) {
    return false;  // split backwards can need more
  }
}

}  // namespace

TEST_CASE("what is read last leaves first, and comes back one backward ahead") {
  CHECK(moved("0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3", {.keep = 2}) ==
        "0F0 0F1 0E1 0F2 0E2 0F3 0E3 0L1 0B0 0L2 0B1 0L3 0B2 0B3");
  // Back to front nothing that is new is needed late: the oldest leave.
  CHECK(moved("0F0,0F1,0F2,0F3,0B3,0B2,0B1,0B0", {.keep = 2}) ==
        "0F0 0F1 0E0 0F2 0E1 0F3 0B3 0L1 0B2 0L0 0B1 0B0");
}

TEST_CASE("calling back later hides less, and earlier more where there is room") {
  const char* csv = "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3";
  CHECK(moved(csv, {.keep = 2, .ahead = 0}) == "0F0 0F1 0E1 0F2 0E2 0F3 0B0 0L1 0B1 0L2 0B2 0B3");
  CHECK(moved(csv, {.keep = 3, .ahead = 2}) == "0F0 0F1 0F2 0E2 0F3 0E3 0L2 0B0 0L3 0B1 0B2 0B3");
}

TEST_CASE("with room for one only, each leaves and comes back just before it is read") {
  CHECK(moved("0F0,0F1,0B0,0B1", {.keep = 1}) == "0F0 0E0 0F1 0E1 0L0 0B0 0L1 0B1");
}

TEST_CASE("an activation between I and W cannot leave, and too many of them are refused") {
  const char* csv = "0F0,0F1,0I0,0F2,0I1,0W0,0W1,0I2,0W2";
  CHECK(moved(csv, {.keep = 2}) == "0F0 0F1 0I0 0E1 0F2 0E2 0L1 0I1 0W0 0W1 0L2 0I2 0W2");
  CHECK(moved(csv, {.keep = 1}) ==
        "rank 0 cannot run with keep = 1: at 0F2 all that it holds is in use or has been "
        "evicted before; keep more");
}

TEST_CASE("the cells of a row stay as they are, whatever moves") {
  CHECK(moved("0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2", {.keep = 2}) ==
        "0F0 0F1 0E1 0F2 0B0 0L1 0B1 0B2");
}

TEST_CASE("orders that keep nothing, or move activations already, cannot be offloaded") {
  CHECK(refusal(order_of("0F0,0F1")) == "the order has no backwards: no activation to offload");
  CHECK(refusal(pipeline("bpipe", 4, 8).schedule) ==
        "the order already evicts activations: only one rule may move them");
  CHECK(refusal(pipeline("gpipe", 4, 8).schedule) == "accepted");
}

TEST_CASE("bpipe moves only what exceeds ceil((p+2)/2), and is 1f1b below four ranks") {
  CHECK(row_text(pipeline("bpipe", 4, 5).schedule.on(Rank{0})) ==
        "0F0 0F1 0F2 0E2 0F3 0B0 0F4 0E4 0L2 0B1 0B2 0L4 0B3 0B4");
  for (const std::uint32_t p : {1U, 2U, 3U}) {
    for (Rank rank : Numbers<Rank>(p)) {
      CHECK(pipeline("bpipe", p, 9).schedule.on(rank) == pipeline("1f1b", p, 9).schedule.on(rank));
    }
  }
}

TEST_CASE("bpipe takes as long as 1f1b on free links, and no rank holds more than ceil((p+2)/2)") {
  for (const std::uint32_t p : {4U, 5U, 6U, 7U, 8U, 12U, 16U}) {
    for (const std::uint32_t m : {p, 2 * p, 4 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const Report bpipe = simulated(pipeline("bpipe", p, m)).report;
      CHECK(bpipe.makespan == simulated(pipeline("1f1b", p, m)).report.makespan);
      CHECK(most_held(bpipe) == (p + 3) / 2);
    }
  }
}

TEST_CASE("bpipe takes as long as 1f1b while a backward and a forward hide the way back") {
  // An activation of 3,000 bytes takes 3 us at 1e9 bytes/s: as long as f + b. Twice that is too
  // long.
  for (const std::uint32_t p : {4U, 8U}) {
    for (const double bytes : {1000.0, 3000.0, 6000.0}) {
      CAPTURE(p);
      CAPTURE(bytes);
      System system = pipeline("bpipe", p, 4 * p, stage_with_stash(bytes));
      const Time plain = simulated(pipeline("1f1b", p, 4 * p)).report.makespan;
      system.hardware = link(0, 1e9);
      const Time makespan = simulated(system).report.makespan;
      CHECK((makespan == plain) == (bytes <= 3000));
    }
  }
}

TEST_CASE("any order keeps to what it may hold, and takes as long on free links") {
  CHECK(rc::check([] {
    System system = random_system();
    system.hardware = {};
    if (!system.schedule.has_backward()) return;
    const Time before = simulated(system).report.makespan;
    const auto keep = random_number(1, 4);
    if (!offload(system, {.keep = keep, .ahead = random_number(0, 2)})) return;
    RC_ASSERT_FALSE(find_order_fault(system.schedule, system.placement));
    const Report after = simulated(system).report;
    RC_ASSERT(after.makespan == before);
    RC_ASSERT(most_held(after) <= keep);
  }));
}

TEST_CASE("what moves to the host and back does so to the picosecond as event by event") {
  CHECK(rc::check([] {
    System system = random_system({.zero_times = false});
    if (!system.schedule.has_backward()) return;
    if (!offload(system, {.keep = random_number(1, 4), .ahead = random_number(0, 2)})) return;
    const NaiveRun naive = run_naively(system);
    const Outcome outcome = simulated(system);
    RC_ASSERT(naive.finished);
    for (TaskId task = 0; task < outcome.plan.tasks(); ++task) {
      const Span span{outcome.timeline.begin[task], outcome.timeline.end[task]};
      RC_ASSERT(span == naive.span.at(task_text(outcome.plan, task)));
    }
    for (std::size_t r = 0; r < naive.peak_bytes.size(); ++r) {
      RC_ASSERT(outcome.report.ranks[r].memory.bytes == naive.peak_bytes[r]);
      RC_ASSERT(outcome.report.ranks[r].idle == outcome.report.ranks[r].idle_by_cause.total());
    }
  }));
}

TEST_CASE("a timeline file holds what moves, and its plan is read back as sound") {
  for (const char* rule : {"bpipe", "gpipe"}) {
    System system = pipeline(rule, 4, 8, stage_with_stash(1000));
    system.hardware = link(1, 1e9);
    if (!system.schedule.has(Pass::evict))
      system.schedule = offloaded(system.schedule, {.keep = 2});
    const Outcome before = simulated(system);
    const Recording after = read_timeline(write_timeline(before.plan, before.timeline, rule));
    CHECK(plan_hash(after.plan) == plan_hash(before.plan));
    CHECK(after.timeline.last_input == before.timeline.last_input);
    CHECK(peak_activations(after.plan, after.timeline) ==
          peak_activations(before.plan, before.timeline));
  }
}

TEST_CASE(
    "a trace shows what moves on both its ends, the host's left out, and no action without "
    "length") {
  // One rank, f = 1, b = 2, 2,000 bytes at 1e9 bytes/s: 0F0 0F1 0E1 0F2 0E2 0L1 0B0 0L2 0B1 0B2.
  System system = pipeline("gpipe", 1, 3, stage_with_stash(2000));
  system.hardware = link(0, 1e9);
  system.schedule = offloaded(system.schedule, {.keep = 2});
  const Outcome outcome = simulated(system);
  const TraceEvents trace(outcome.plan, outcome.timeline);
  const auto count = [&](TraceKind kind) {
    int events = 0;
    trace.for_each([&](const TraceEvent& event) { events += event.kind == kind ? 1 : 0; });
    return events;
  };
  CHECK(count(TraceKind::compute) == 6);
  CHECK(count(TraceKind::send) == 2);
  CHECK(count(TraceKind::receive) == 2);
  CHECK(count(TraceKind::arrow_start) == 0);
  CHECK(trace.lanes().front() == std::array<std::uint32_t, slice_kinds>{1, 1, 1, 0});
}

}  // namespace penstock::testing
