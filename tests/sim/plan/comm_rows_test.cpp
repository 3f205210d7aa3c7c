#include "sim/plan/comm_rows.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/formats/traces/trace_events.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "sim/engines/events.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/engines/stepwise.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/memory.hpp"
#include "sim/timeline/peak_bytes.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/system.hpp"
#include "validate/comparison/counted_memory.hpp"

namespace penstock::testing {
namespace {

/// One byte takes a microsecond, and every tensor has four.
System written(const char* csv, CommStreams streams, std::vector<Layer> stages) {
  for (Layer& stage : stages) stage.activation_bytes = 4;
  System system = a_stage_each(csv, std::move(stages), link(0, 1e6));
  system.extras.communication = {.streams = streams, .rows = read_torch_csv(csv).comms};
  return system;
}

/// Two forwards of 2 us, each with a tensor for the other rank, which takes 6.
System two_forwards(const char* receiver) {
  const std::string csv = fmt::format("0F0,0SEND_F0,0F1,0SEND_F1\n{}\n", receiver);
  return written(csv.c_str(), CommStreams::direction, {stage_of(2, 0), stage_of(6, 0)});
}

/// Two microbatches there and back; the backward of the second stage takes 6 us, all else 2.
System there_and_back(const char* csv, CommStreams streams, bool batched = false) {
  System system = written(csv, streams, {stage_of(2, 2), stage_of(2, 6)});
  system.extras.communication.batched = batched;
  return system;
}

double makespan_us(const System& system) {
  const Outcome outcome = simulated(system);
  return to_us(makespan(outcome.plan, outcome.timeline));
}

std::string deadlock_text(const System& system) {
  const auto result = lower(system.schedule, system.placement, system.overlap, system.extras);
  const auto* deadlock = std::get_if<Deadlock>(&result);
  return deadlock == nullptr ? "none" : text(*deadlock);
}

/// Two stages on one rank, each with 4 bytes of weights that two replicas share: 2 us to gather
/// them, 2 us to reduce their gradients; passes take 2 us each.
System sharded(const char* csv) {
  System system{
      Placement::loop(1, 2), order_of(csv), {stage_of(2, 2), stage_of(2, 2)}, link(0, 1e6)};
  for (Layer& stage : system.stages) stage.parameter_bytes = 4;
  system.training = {.data = 2, .zero = 3, .whole_gradients = true, .gathers_written = true};
  system.extras.tail = {.reduces = {true, true}, .summing = Summing::written};
  system.extras.holds[static_cast<std::size_t>(BufferKind::gathered)] = true;
  system.extras.communication = {
      .weights = true, .gradients = true, .rows = read_torch_csv(csv).comms};
  return system;
}

std::uint64_t most_held(const Outcome& outcome) {
  return memory_peaks(outcome.plan, outcome.costs, outcome.timeline)[0].bytes;
}

constexpr const char* late_receive = "1RECV_F0,1F0,1RECV_F1,1F1";
constexpr const char* early_receives = "1RECV_F0,1RECV_F1,1F0,1F1";

constexpr const char* receive_posted_early =
    "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
    "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
constexpr const char* crossing_pair =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
    "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";

}  // namespace

TEST_CASE("written communication: a tensor moves once its RECV was issued") {
  const Outcome late = simulated(two_forwards(late_receive));
  check_spans(late, {"0SEND_F0 2-6", "1F0 6-12", "0SEND_F1 12-16", "1F1 16-22"});
  const Outcome early = simulated(two_forwards(early_receives));
  check_spans(early, {"0SEND_F1 6-10", "1F1 12-18"});
}

TEST_CASE("written communication: an EXCHANGE overlaps compute of its rank") {
  const auto exchanged = [](const char* csv) {
    System system = written(csv, CommStreams::pair, {stage_of(2, 2), stage_of(2, 2)});
    system.placement = Placement::loop(1, 2);
    system.stages[0].exchange_us = 5;
    system.extras.exchanges = {true, false};
    return simulated(system);
  };
  const Outcome beside = exchanged("0F0,0EXCHANGE_F0,0F1,0EXCHANGE_F1,1F0,1F1");
  CHECK(spans_text(beside) ==
        "0F0 0-2, 0EXCHANGE_F0 2-7, 0F1 2-4, 0EXCHANGE_F1 7-12, 1F0 7-9, 1F1 12-14");
  const Outcome late = exchanged("0F0,0F1,0EXCHANGE_F1,0EXCHANGE_F0,1F0,1F1");
  check_spans(late, {"0EXCHANGE_F0 9-14"});
  CHECK(most_held(beside) == 4);
  CHECK(most_held(late) == 4 + 4);  // what was received, of two microbatches
  const Outcome back = exchanged("0F0,0EXCHANGE_F0,1F0,1B0,1EXCHANGE_B0,0B0");
  check_spans(back, {"1EXCHANGE_B0 11-16", "0B0 16-18"});
}

TEST_CASE("written communication: an UNSHARD behind an EXCHANGE waits for it in their stream") {
  System system = sharded("0UNSHARD,0F0,0EXCHANGE_F0,1UNSHARD,1F0,1B0,1EXCHANGE_B0,0B0");
  system.stages[0].exchange_us = 5;
  system.extras.exchanges = {true, false};
  const Outcome outcome = simulated(system);
  check_spans(outcome, {"0EXCHANGE_F0 4-9", "1F0 11-13"});
}

TEST_CASE("written communication: tensors that meet their RECVs come in no fixed order") {
  const System system = there_and_back(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0RECV_B1,0B0,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
      CommStreams::message);
  const Plan plan =
      std::get<Plan>(lower(system.schedule, system.placement, system.overlap, system.extras));
  REQUIRE(waits_beyond_makers(plan));
  CHECK(plan.in_one_order == std::vector<bool>{false, false});
  CHECK(links_in_one_order(plan) == plan.in_one_order);
}

TEST_CASE("written communication: an eager tensor does not wait for its RECV") {
  System system = two_forwards(late_receive);
  system.extras.communication.eager = {true, true};
  const Outcome outcome = simulated(system);
  check_spans(outcome, {"0SEND_F1 6-10", "1F1 12-18"});
}

TEST_CASE("written communication: a RECV holds up the SEND behind it in its stream") {
  CHECK(makespan_us(there_and_back(receive_posted_early, CommStreams::direction)) == 32);
  CHECK(makespan_us(there_and_back(receive_posted_early, CommStreams::message)) == 32);
  const Outcome pair = simulated(there_and_back(receive_posted_early, CommStreams::pair));
  check_spans(pair, {"1SEND_B0 14-18", "0SEND_F1 18-22"});
  CHECK(to_us(makespan(pair.plan, pair.timeline)) == 36);
}

TEST_CASE("written communication: a stream in which both ranks send first is a deadlock") {
  const char* const text =
      "deadlock: 0SEND_F1 of rank 0 waits for 1RECV_F1 of rank 1, which follows 1SEND_B0; 1SEND_B0 "
      "of rank 1 waits for 0RECV_B0 of rank 0, which follows 0SEND_F1";
  CHECK(deadlock_text(there_and_back(crossing_pair, CommStreams::pair)) == text);
  CHECK(deadlock_text(there_and_back(crossing_pair, CommStreams::rank)) == text);
  CHECK(makespan_us(there_and_back(crossing_pair, CommStreams::direction)) == 32);
}

TEST_CASE("written communication: batched cells go together") {
  const Outcome outcome = simulated(there_and_back(crossing_pair, CommStreams::pair, true));
  check_spans(outcome, {"0SEND_F1 14-18", "1SEND_B0 14-18"});
  CHECK(to_us(makespan(outcome.plan, outcome.timeline)) == 32);
}

TEST_CASE("written communication: a RECV that its rank never comes to is a deadlock") {
  CHECK(deadlock_text(there_and_back("0F0,0SEND_F0,0WAIT_SEND_F0,0RECV_B0,0B0\n"
                                     "1F0,1B0,1SEND_B0,1RECV_F0\n",
                                     CommStreams::message)) ==
        "deadlock: 1F0 of rank 1 waits for 1RECV_F0 of rank 1, which follows 1F0");
}

TEST_CASE("written communication: a rank waits for a SEND where its wait is") {
  System system = two_forwards(late_receive);
  const char* const csv = "0F0,0SEND_F0,0WAIT_SEND_F0,0F1,0SEND_F1\n1RECV_F0,1F0,1RECV_F1,1F1\n";
  system.schedule = order_of(csv);
  system.extras.communication.rows = read_torch_csv(csv).comms;
  const Outcome outcome = simulated(system);
  check_spans(outcome, {"0F1 6-8", "1F1 16-22"});
}

TEST_CASE("written communication: a cell behind a wait for a SEND is issued when that has ended") {
  System system = there_and_back(
      "0F0,0F1,0SEND_F1,0WAIT_SEND_F1,0SEND_F0,0WAIT_SEND_F0,0RECV_B1,0B1,0RECV_B0,0B0\n"
      "1RECV_F1,1RECV_F0,1F1,1F0,1B1,1SEND_B1,1B0,1SEND_B0,1WAIT_SEND_B1,1WAIT_SEND_B0\n",
      CommStreams::message);
  system.hardware = delay(4);
  const Outcome outcome = simulated(system);
  check_spans(outcome, {"0SEND_F1 4-8", "0SEND_F0 8-12", "1F0 12-14"});
}

TEST_CASE("written communication: a tensor takes memory once, whoever waits for it") {
  const auto held = [](const char* csv, std::size_t rank, bool eager) {
    System system = written(csv, CommStreams::message, {stage_of(2, 2), stage_of(2, 2)});
    for (Layer& stage : system.stages) stage.stash_bytes = 1000;
    system.extras.communication.eager = {eager, eager};
    const Outcome outcome = simulated(system);
    const std::uint64_t most =
        memory_peaks(outcome.plan, outcome.costs, outcome.timeline)[rank].bytes;
    CHECK(PeakBytes(outcome.plan).of(outcome.plan, outcome.costs, outcome.timeline)[rank] == most);
    return most;
  };
  // The sender waits, too. Received activations are given back as F takes the stash.
  const char* const waiting =
      "0F0,0SEND_F0,0WAIT_SEND_F0,0F1,0SEND_F1,0RECV_B0,0WAIT_SEND_F1,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1WAIT_SEND_B0,1F1,1B1,1SEND_B1,1WAIT_SEND_B1\n";
  CHECK(held(waiting, 0, false) == 2000);
  CHECK(held(waiting, 1, false) == 1000);
  // F1 also waits for B0, which stands before its RECV.
  const char* const eager =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
  CHECK(held(eager, 0, true) == 2000);
  CHECK(held(eager, 1, true) == 1000);
}

TEST_CASE("written communication: random orders hold what is counted of them otherwise") {
  CHECK(rc::check([] {
    System system = random_system({.recompute = false});
    write_communication(system);
    system.extras.communication.receives_hold = false;
    const auto lowered = lower(system.schedule, system.placement, system.overlap, system.extras);
    RC_PRE(std::holds_alternative<Plan>(lowered));
    const PricedPlan plan = priced(system);
    const Timeline timeline = timeline_of(run_ahead(plan));
    std::vector<std::uint64_t> peaks;
    for (const MemoryPeak& peak : memory_peaks(plan.plan, plan.costs, timeline)) {
      peaks.push_back(peak.bytes);
    }
    RC_ASSERT(peaks == PeakBytes(plan.plan).of(plan.plan, plan.costs, timeline));
    if (system.training.zero == 3) return;  // the count knows no gathered weights
    RC_ASSERT(peaks == counted_memory_peaks(plan.plan, plan.costs, timeline));
  }));
}

TEST_CASE("written communication: a received activation takes memory from its RECV on") {
  const auto most_held = [](const char* receiver) {
    const std::string csv = fmt::format("0F0,0SEND_F0,0F1,0SEND_F1,0F2,0SEND_F2\n{}\n", receiver);
    const Outcome outcome =
        simulated(written(csv.c_str(), CommStreams::direction, {stage_of(2, 0), stage_of(6, 0)}));
    return memory_peaks(outcome.plan, outcome.costs, outcome.timeline)[1].bytes;
  };
  CHECK(most_held("1RECV_F0,1F0,1RECV_F1,1F1,1RECV_F2,1F2") == 4);
  CHECK(most_held("1RECV_F0,1F0,1RECV_F1,1RECV_F2,1F1,1F2") == 8);
}

TEST_CASE("written communication: weights are gathered behind UNSHARD, gradients at REDUCE_GRAD") {
  // Each stage whole only while it is used: 2 + 2 bytes of shards and 4 more.
  const Outcome late = simulated(
      sharded("0UNSHARD,0F0,0RESHARD,1UNSHARD,1F0,1B0,1RESHARD,1REDUCE_GRAD,0UNSHARD,0B0,0RESHARD,"
              "0REDUCE_GRAD"));
  CHECK(spans_text(late) ==
        "0GATHER0 0-2, 0F0 2-4, 1GATHER0 4-6, 1F0 6-8, 1B0 8-10, 1REDUCE0 10-12, 0GATHER0 12-14, "
        "0B0 14-16, 0REDUCE0 16-18");
  CHECK(most_held(late) == 8);
  // Both whole from the start.
  const Outcome early = simulated(
      sharded("0UNSHARD,1UNSHARD,0F0,1F0,1B0,1REDUCE_GRAD,1RESHARD,0B0,0REDUCE_GRAD,0RESHARD"));
  CHECK(spans_text(early) ==
        "0GATHER0 0-2, 1GATHER0 2-4, 0F0 2-4, 1F0 4-6, 1B0 6-8, 1REDUCE0 8-10, 0B0 8-10, "
        "0REDUCE0 10-12");
  CHECK(most_held(early) == 12);
}

TEST_CASE("written communication: an UNSHARD waits for those of other replicas") {
  // Passes of the other replica take 4 us: it comes to the second UNSHARD at 6, to the sum at 16,
  // and to the last sum at 24.
  const System system = sharded(
      "0UNSHARD,0F0,0RESHARD,1UNSHARD,1F0,1B0,1RESHARD,1REDUCE_GRAD,0UNSHARD,0B0,0RESHARD,"
      "0REDUCE_GRAD");
  const Chance chance{.stragglers = {{.rank = Rank{0}, .factor = 2, .replica = 1}}};
  Outcome outcome;
  const auto drawn = std::get<DrawnReplica>(draw_among_replicas(priced(system), chance, 0, 2));
  outcome.plan = drawn.priced.plan;
  outcome.timeline = relax(drawn.priced);
  check_spans(outcome,
              {"1GATHER0 4-8", "1F0 8-10", "1REDUCE0 12-18", "0B0 20-22", "0REDUCE0 22-26"});
}

TEST_CASE("written communication: a rank waits for a reduction where its wait is") {
  const Outcome outcome = simulated(
      sharded("0UNSHARD,1UNSHARD,0F0,1F0,1B0,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,0B0,0REDUCE_GRAD,"
              "0WAIT_REDUCE_GRAD,0RESHARD,1RESHARD"));
  check_spans(outcome, {"1REDUCE0 8-10", "0B0 10-12"});
}

TEST_CASE("written communication: weights that no action uses take time and no memory") {
  // 1UNSHARD is of no use twice: before its RESHARD stands no action, or none of its stage.
  for (const char* const begin :
       {"0UNSHARD,1UNSHARD,1RESHARD,0F0,0RESHARD,", "0UNSHARD,1UNSHARD,0F0,1RESHARD,0RESHARD,"}) {
    const Outcome outcome = simulated(
        sharded((begin + std::string("1UNSHARD,1F0,1B0,1REDUCE_GRAD,1RESHARD,0UNSHARD,0B0,0RESHARD,"
                                     "0REDUCE_GRAD"))
                    .c_str()));
    check_spans(outcome, {"0F0 2-4", "1F0 6-8"});
    CHECK(most_held(outcome) == 8);
  }
}

TEST_CASE("written communication: a rank may wait for weights before which nothing ran") {
  System system = sharded(
      "0UNSHARD,1UNSHARD,0F0,1F0,1B0,1REDUCE_GRAD,1RESHARD,0B0,0REDUCE_GRAD,"
      "0RESHARD");
  system.stages[1].parameter_bytes = 20;
  const Outcome outcome = simulated(system);
  check_spans(outcome, {"1F0 12-14"});
  CHECK(causes_text(outcome.report.ranks[0].idle_by_cause) == "warmup 2 drain 10 transfer 8");
}

TEST_CASE("written communication: a gather that finds no room says whose") {
  System system = sharded(
      "0UNSHARD,1UNSHARD,0F0,1F0,1B0,1REDUCE_GRAD,1RESHARD,0B0,0REDUCE_GRAD,"
      "0RESHARD");
  PricedPlan plan = priced(system);
  plan.conditions.stall_above_bytes = 9;
  const auto outcome = run_stepwise(plan);
  const auto* const halt = std::get_if<Standstill>(&outcome);
  REQUIRE(halt != nullptr);
  CHECK(halt->text.find("memory of rank 0") != std::string::npos);
}

TEST_CASE("written communication: arrows of a trace begin at the action that made the tensor") {
  const Outcome outcome = simulated(there_and_back(crossing_pair, CommStreams::message));
  const TraceEvents trace(outcome.plan, outcome.timeline);
  std::string arrows;
  trace.for_each([&](const TraceEvent& event) {
    if (event.kind != TraceKind::arrow_start) return;
    arrows += fmt::format("{} at {} on {}, ", task_text(outcome.plan, event.task),
                          event.at.picoseconds / 1'000'000, event.rank);
  });
  CHECK(arrows ==
        "0SEND_F0 at 1 on 0, 0SEND_F1 at 3 on 0, 1SEND_B0 at 13 on 1, 1SEND_B1 at 25 on 1, ");
}

// 1RECV_F1 is issued when 1F0 has ended, at 12 us; rank 0 came to 0SEND_F1 at 4, and its stream had
// 0SEND_F0 until 6.
TEST_CASE("written communication: a trace shows how long an end of a transfer waits") {
  const auto outcome = simulated(two_forwards(late_receive));
  const TraceEvents trace(outcome.plan, outcome.timeline);
  std::vector<std::string> waits;
  trace.for_each([&](const TraceEvent& event) {
    if (!event.waits) return;
    waits.push_back(fmt::format("{} {} {:g}+{:g}", event.rank, task_text(outcome.plan, event.task),
                                to_us(event.at), to_us(event.length)));
  });
  CHECK(waits == std::vector<std::string>{"0 0SEND_F1 6+6"});
}

TEST_CASE("written communication: all engines agree, whatever the order") {
  CHECK(rc::check([] {
    System system = random_system({.recompute = false});
    write_communication(system);
    const auto lowered = lower(system.schedule, system.placement, system.overlap, system.extras);
    if (std::holds_alternative<Deadlock>(lowered)) {
      RC_TAG("deadlock");
      RC_ASSERT(!std::get<Deadlock>(lowered).circle.empty());
      return;
    }
    const PricedPlan plan = priced(system);
    const Timeline stepwise = timeline_of(run_stepwise(plan));
    const Timeline ahead = timeline_of(run_ahead(plan));
    RC_ASSERT(stepwise.begin == ahead.begin);
    RC_ASSERT(stepwise.end == ahead.end);
    if (why_not_relax(plan.plan, plan.conditions)) return;
    RC_TAG("relax");
    const Timeline relaxed = relax(plan);
    RC_ASSERT(relaxed.begin == stepwise.begin);
    RC_ASSERT(relaxed.end == stepwise.end);
  }));
}

}  // namespace penstock::testing
