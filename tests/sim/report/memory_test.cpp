#include "sim/report/memory.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "tests/support/naive_run.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

/// One rank with one stage, and such an order: the most activations it holds.
std::uint32_t peak_of_one_rank(const char* csv, Overlap overlap = Overlap::serial) {
  Plan plan = lowered({Placement::loop(1, 1), order_of(csv), {}, {}, overlap});
  return peak_activations(plan).front();
}

/// "0:200 1:220" of one rank, samples that repeat the one before left out.
std::string samples_text(const std::vector<MemorySample>& samples, Rank rank) {
  std::string text;
  std::uint64_t last = UINT64_MAX;
  for (const MemorySample& sample : samples) {
    if (sample.rank != rank || sample.bytes == last) continue;
    last = sample.bytes;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", text_us(sample.time), last);
  }
  return text;
}

}  // namespace

TEST_CASE("an activation is held from the start of F to the end of B") {
  CHECK(peak_of_one_rank("0F0,0B0,0F1,0B1") == 1);
  CHECK(peak_of_one_rank("0F0,0F1,0B0,0F2,0B1,0B2") == 2);
  CHECK(peak_of_one_rank("0F0,0F1,0F2,0B0,0B1,0B2") == 3);
}

TEST_CASE("an evicted activation is held until it has arrived, by its keeper from its start") {
  // Two ranks that send nothing else; f = 1, b = 2, 2,000 bytes at 1e9 bytes/s. Rank 0: F0 0-1,
  // out 1-3, F1 1-2, F2 2-3, L0 at 3, back 3-5, B1 3-5, B0 5-7, B2 7-9.
  System system{
      Placement::given(2, {{Rank{0}}}, {{Stage{0}}}), Schedule(2), {stage_of(1, 2)}, link(0, 1e9)};
  system.stages.front().stash_bytes = 2000;
  system.schedule.on(Rank{0}) = actions_of("0F0 0E0 0F1 0F2 0L0 0B1 0B0 0B2");
  system.schedule.set_keepers({Rank{1}, Rank{0}});
  Outcome outcome = simulated(system);
  std::vector<MemorySample> samples;
  memory_peaks(outcome.plan, outcome.costs, outcome.timeline, &samples);
  // 0, 1 and 2 at once from 2 to 3; then 0 is gone and on its way back in the same moment.
  CHECK(samples_text(samples, Rank{0}) == "0:2000 1:4000 2:6000 5:4000 7:2000 9:0");
  CHECK(samples_text(samples, Rank{1}) == "0:0 1:2000 5:0");
  CHECK(peak_activations(outcome.plan, outcome.timeline) == std::vector<std::uint32_t>{3, 1});
}

TEST_CASE("a split backward holds the activation to the end of W") {
  // After I0 the activation of 0 is still there when F1 begins; after W0 it is not.
  CHECK(peak_of_one_rank("0F0,0I0,0F1,0W0,0I1,0W1") == 2);
  CHECK(peak_of_one_rank("0F0,0I0,0W0,0F1,0I1,0W1") == 1);
}

TEST_CASE("without any backward an activation is held only while its F runs") {
  CHECK(peak_of_one_rank("0F0,0F1,0F2,0F3") == 1);
}

TEST_CASE("the F of an overlap cell counts beside its B unless it stands behind it in series") {
  CHECK(peak_of_one_rank("0F0,(0F1;0B0)OVERLAP_F_B,0B1", Overlap::serial) == 2);
  CHECK(peak_of_one_rank("0F0,(0B0;0F1)OVERLAP_F_B,0B1", Overlap::serial) == 1);
  CHECK(peak_of_one_rank("0F0,(0F1;0B0)OVERLAP_F_B,0B1", Overlap::fused) == 2);
  CHECK(peak_of_one_rank("0F0,(0B0;0F1)OVERLAP_F_B,0B1", Overlap::fused) == 2);
}

TEST_CASE("activations of all stages of a rank count") {
  // Stages 0 and 1 on one rank: both are held until their backward.
  const Plan plan = lowered({Placement::vee(1, 2), order_of("0F0,1F0,1B0,0B0"), {}});
  CHECK(peak_activations(plan).front() == 2);
}

TEST_CASE("parameters, received and kept activations add up over time") {
  // Forwards alone of 1 and 3 us. Rank 0: F0 0-1, F1 1-2. Rank 1: F0 1-4, F1 4-7.
  // Rank 1 has 200 of parameters. At 1 it receives 7, reads them at once, and keeps 20 until 4. At
  // 2 it receives 7 more, which lie there until F1 reads them at 4.
  Layer first = stage_of(1, 0);
  first.activation_bytes = 7;
  first.stash_bytes = 10;
  first.parameter_bytes = 100;
  Layer second = stage_of(3, 0);
  second.activation_bytes = 5000;  // the last stage hands nothing on
  second.stash_bytes = 20;
  second.parameter_bytes = 200;
  const Outcome outcome = simulated(a_stage_each("0F0,0F1\n1F0,1F1", {first, second}));
  std::vector<MemorySample> samples;
  const auto peaks = memory_peaks(outcome.plan, outcome.costs, outcome.timeline, &samples);
  CHECK(samples_text(samples, Rank{1}) == "0:200 1:220 2:227 4:220 7:200");
  CHECK(samples_text(samples, Rank{0}) == "0:110 2:100");
  CHECK(peaks[1].bytes == 227);
  CHECK(peaks[1].by_kind == BytesByKind{200, 20, 7, 0});
  CHECK(to_us(peaks[1].time) == 2);
  CHECK(task_text(outcome.plan, peaks[1].task) == "0SEND_F1");
  CHECK(peaks[0].bytes == 110);
  CHECK(task_text(outcome.plan, peaks[0].task) == "0F0");
}

TEST_CASE("parameters alone make the peak of a rank that keeps nothing") {
  Layer stage{.forward_us = 1, .backward_us = 1, .parameter_bytes = 30};
  const Outcome outcome =
      simulated({Placement::loop(1, 2), order_of("0F0,1F0,1B0,0B0"), {stage, stage}});
  CHECK(outcome.report.ranks[0].memory.bytes == 60);
  CHECK(outcome.report.ranks[0].memory.task == no_task);
}

TEST_CASE("the first moment above a limit is when the first byte too many comes") {
  // One rank, stash 10 an activation, f = 1: 10 from 0 on, 20 from 1, 30 from 2.
  Layer stage{.forward_us = 1, .backward_us = 1, .stash_bytes = 10};
  const Outcome outcome = simulated(a_stage_each("0F0,0F1,0F2,0B0,0B1,0B2", {stage}));
  const auto first = [&](std::uint64_t bytes) {
    return first_above(outcome.plan, outcome.costs, outcome.timeline, bytes).front();
  };
  CHECK(first(9) == from_us(0));
  CHECK(first(10) == from_us(1));
  CHECK(first(29) == from_us(2));
  CHECK(!first(30));
}

TEST_CASE("workspace is held while an action runs, pending weight gradients from I to W") {
  // Stash 1, pending 10, workspace 100; all actions take 1. F0 0-1: 101. F1 1-2: 102. I0 2-3: 102;
  // then 10 are pending: I1 3-4 112; W0 4-5 122, of two pending; W1 111.
  Layer stage = stage_of(1, 1, 1);
  stage.stash_bytes = 1;
  stage.pending_weight_bytes = 10;
  stage.workspace_bytes = 100;
  System system = a_stage_each("0F0,0F1,0I0,0I1,0W0,0W1", {stage});
  for (const BufferKind kind : {BufferKind::pending_weight, BufferKind::workspace}) {
    system.extras.holds[static_cast<std::size_t>(kind)] = true;
  }
  const Outcome outcome = simulated(system);
  std::vector<MemorySample> samples;
  memory_peaks(outcome.plan, outcome.costs, outcome.timeline, &samples);
  CHECK(samples_text(samples, Rank{0}) == "0:101 1:102 3:112 4:122 5:111 6:0");
}

TEST_CASE("a device's context is held once a rank") {
  // Two stages of 5 bytes on one rank: 10, and 100 whatever it runs.
  Layer stage{.forward_us = 1, .backward_us = 1, .parameter_bytes = 5};
  System system{Placement::loop(1, 2), order_of("0F0,1F0,1B0,0B0"), {stage, stage}};
  system.extras.holds[static_cast<std::size_t>(BufferKind::context)] = true;
  system.training = {.context_bytes = 100};
  const MemoryPeak peak = simulated(system).report.ranks[0].memory;
  CHECK(peak.bytes == 110);
  CHECK(peak.by_kind[static_cast<std::size_t>(BufferKind::context)] == 100);
}

TEST_CASE("what a finished action gives back makes room for what comes in the same moment") {
  // One rank, stash 10 an activation: B0 ends as F1 begins, so there is never more than one.
  Layer stage{.forward_us = 1, .backward_us = 1, .stash_bytes = 10};
  const Outcome outcome = simulated(a_stage_each("0F0,0B0,0F1,0B1", {stage}));
  CHECK(outcome.report.ranks[0].memory.bytes == 10);
}

TEST_CASE("in any run each rank peaks where the rules of the contract say") {
  CHECK(rc::check([] {
    const System system = random_system({.zero_times = false});
    const NaiveRun naive = run_naively(system);
    const Outcome outcome = simulated(system);
    for (std::size_t r = 0; r < naive.peak_bytes.size(); ++r) {
      RC_ASSERT(outcome.report.ranks[r].memory.bytes == naive.peak_bytes[r]);
    }
  }));
}

TEST_CASE("in any run the samples end with what is held all the time, and none is above the peak") {
  CHECK(rc::check([] {
    const Outcome outcome = simulated(random_system({.zero_times = false}));
    std::vector<MemorySample> samples;
    const auto peaks = memory_peaks(outcome.plan, outcome.costs, outcome.timeline, &samples);
    std::vector<std::uint64_t> last(peaks.size()), highest(peaks.size());
    std::vector<bool> seen(peaks.size());
    for (const MemorySample& sample : samples) {
      const std::uint32_t rank = index(sample.rank);
      seen[rank] = true;
      last[rank] = sample.bytes;
      highest[rank] = std::max(highest[rank], sample.bytes);
    }
    for (std::size_t r = 0; r < peaks.size(); ++r) {
      RC_ASSERT(seen[r]);
      RC_ASSERT(highest[r] <= peaks[r].bytes);
      // Everything that was taken has been given back.
      std::uint64_t all_the_time = 0;
      for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
        if (for_whole_run(BufferKind{kind})) all_the_time += peaks[r].by_kind[kind];
      }
      RC_ASSERT(last[r] == all_the_time);
      RC_ASSERT(std::accumulate(peaks[r].by_kind.begin(), peaks[r].by_kind.end(),
                                std::uint64_t{0}) == peaks[r].bytes);
    }
  }));
}

}  // namespace penstock::testing
