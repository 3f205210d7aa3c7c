#include "experiments/measure/measured_runs/clocks.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "tests/support/says.hpp"
#include "tests/support/traced_runs.hpp"

// Clocks of ranks over links that are slow, and clocks that nothing aligns.

namespace penstock::testing {
namespace {

/// Three stages of which these links take 20 times as long as others: 5 us.
RunResult with_slow(const std::string& links) {
  return run_of(three_stages(steady_order),
                {fmt::format(R"(/chance={{"slow_links": [{}]}})", links)});
}

/// What is read of a run whose clocks are ahead by this, by rank.
MeasuredRun read_with(const RunResult& made, const std::vector<std::int64_t>& ahead_ns) {
  Traces traces({made}, {});
  for (std::uint32_t rank = 0; rank < ahead_ns.size(); ++rank) {
    traces.set_ahead(rank, ahead_ns[rank]);
  }
  return traces.read();
}

/// Both runs have all of their ops at the same times.
void check_same(const MeasuredRun& run, const MeasuredRun& right) {
  CHECK(run.timeline.begin == right.timeline.begin);
  CHECK(run.timeline.end == right.timeline.end);
  CHECK(run.transfer_us == right.transfer_us);
  REQUIRE(run.slow_links.size() == right.slow_links.size());
  for (std::size_t i = 0; i < run.slow_links.size(); ++i) {
    CHECK(run.slow_links[i].us == right.slow_links[i].us);
  }
}

}  // namespace

// There and back between ranks 1 and 2 takes 10 us, and 0.5 between the others.
TEST_CASE("clocks: over a pair of links that are slow both ways, they are aligned by half") {
  const RunResult made =
      with_slow(R"({"from": 1, "to": 2, "factor": 20}, {"from": 2, "to": 1, "factor": 20})");
  const MeasuredRun run = read_with(made, {0, 0, 100'000});
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, 0, 100'000});
  CHECK(run.clock_error_ns == 95'000);
  CHECK(run.unaligned.empty());
  check_same(run, read_with(made, {0, 0, 0}));
}

// Between ranks 0 and 1 it takes 5 us there and 0.25 back. Only clocks from 99.75 to 105 us ahead
// fit rank 1. With 100, the clock of rank 2 is right as it is; with half the difference it is not.
TEST_CASE("clocks: over a link that is slow one way, a clock that fits stays as it is") {
  const RunResult made = with_slow(R"({"from": 0, "to": 1, "factor": 20})");
  const MeasuredRun run = read_with(made, {0, 100'000, 0});
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, 100'000, 0});
  check_same(run, read_with(made, {0, 0, 0}));
}

TEST_CASE("clocks: a slow link alone moves no clock") {
  const MeasuredRun run = read_with(with_slow(R"({"from": 0, "to": 1, "factor": 20})"), {0, 0, 0});
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, 0, 0});
}

// In the second step, the clock of rank 1 is 4 us behind. Set back by half of that, tensors take
// 0.25 - 2 us over one link of each pair and step.
TEST_CASE("clocks: those that drift are noted, in the timeline too") {
  const RunResult made = run_of(three_stages(steady_order));
  Traces traces({made, made}, {});
  std::vector<TracedRank> ranks = read_rank_traces(traces.reading, true, traces.notes);
  for (MeasuredOp& op : ranks[1].ops.ops) {
    if (op.step == 3) continue;
    op.span.begin_ns -= 4000;
    op.span.end_ns -= 4000;
  }
  const MeasuredRun run = measured_run(std::move(ranks), {}, {});
  CHECK(run.clock_offsets_ns == std::vector<std::int64_t>{0, -2000, 0});
  const std::string note =
      "clocks are not aligned between ranks 0 and 1, 1 and 2: tensors arrive up to 1.75 µs before "
      "they leave";
  CHECK(run.unaligned == note);
  CHECK(std::ranges::count(run.notes, note) == 1);
  CHECK(says(measured_run_text(run), "trace with synchronised clocks (PTP)"));
  const Recording recording{run.job.priced.plan, run.timeline, run.title};
  CHECK(std::ranges::count(explain_recorded(run_of_recording(recording)).notes, note) == 1);
  const Comparison same =
      compare(recording.plan, recording.timeline, recording.plan, recording.timeline);
  const auto notes = comparison_notes({"a", recording}, {"b", recording}, same);
  CHECK(std::ranges::count(notes, "A: " + note) == 1);
  CHECK(std::ranges::count(notes, "B: " + note) == 1);
}

// Tensors take 60 us to the next of four ranks and 10 us back, and the clock of rank 2 is 1 ms
// ahead. Ranks 1 and 3 leave it 990 to 1010 us. Half of each difference, 25 us, is no clock: three
// of them and the difference of the last pair, which closes the ring, are 100 us apart.
TEST_CASE("clocks: around a ring whose links are slow one way, clocks that fit stay as they are") {
  Plan plan;
  plan.ranks = 4;
  const auto times_of = [](double ahead_us) {
    const std::vector<double> ahead{0, 0, ahead_us, 0};
    TransferTimes times;
    for (std::uint32_t from = 0; from < 4; ++from) {
      const std::uint32_t to = (from + 1) % 4;
      const double apart_us = ahead[to] - ahead[from];
      times.least.push_back({Link{Rank{from}, Rank{to}}, 60 + apart_us});
      times.least.push_back({Link{Rank{to}, Rank{from}}, 10 - apart_us});
    }
    return times;
  };
  TransferTimes one_ahead = times_of(1000);
  one_ahead.clock_error_ns = 990'000;
  CHECK(clock_offsets(plan, one_ahead, 0) == std::vector<std::int64_t>{0, 0, 1'000'000, 0});
  TransferTimes right = times_of(0);
  right.slow = {{Link{Rank{0}, Rank{1}}, 60}};
  CHECK(clock_offsets(plan, right, 0).empty());
}

TEST_CASE("clocks: those half a step from the first may show other steps") {
  CHECK(far_clocks({0, -49, 49}, 100).empty());
  CHECK(far_clocks({0, -50, 0, 49}, 100) ==
        "the clocks of ranks 0 and 1 differ by half a step or more, or these are other steps: "
        "ProfilerStep# annotations number them");
}

TEST_CASE("clocks: tensors that arrive early by no more than ops overlap need no note") {
  const TransferTimes times{.least = {{Link{Rank{3}, Rank{2}}, -4}, {Link{Rank{0}, Rank{1}}, 1}}};
  CHECK(unaligned_clocks(times, 4000).empty());
  CHECK(
      unaligned_clocks(times, 3000) ==
      "clocks are not aligned between ranks 2 and 3: tensors arrive up to 4 µs before they leave");
}

}  // namespace penstock::testing
