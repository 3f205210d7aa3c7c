#include "experiments/measure/measured_runs/iterations.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "tests/support/traced_runs.hpp"

// Which ops are of which step.

namespace penstock::testing {
namespace {

/// Three steps whose ops differ by chance.
Traces three_steps(const char* schedule, const KinetoStyle& style) {
  return {varied_runs(three_stages(schedule), 3), style};
}

std::vector<TracedRank> ranks_of(Traces& traces) {
  return read_rank_traces(traces.reading, true, traces.notes);
}

/// Without the first ops of a rank.
void cut_front(std::size_t count, TracedRank& rank) {
  rank.ops.ops.erase(rank.ops.ops.begin(),
                     rank.ops.ops.begin() + static_cast<std::ptrdiff_t>(count));
}

/// The last step of a cut capture takes as long as that of the whole one, op by op.
void check_last_step(const MeasuredRun& run, const MeasuredRun& whole) {
  const Plan& plan = run.job.priced.plan;
  REQUIRE(plan.tasks() == whole.job.priced.plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.is_link(plan.class_of(task).resource)) continue;
    CHECK(run.timeline.begin[task] == whole.timeline.begin[task]);
    CHECK(run.timeline.end[task] == whole.timeline.end[task]);
  }
}

/// Captures of three steps that begin, on all ranks at that time, with any op but the first of a
/// step of rank 0 have the later two; ranks that are ahead or behind have all of the first or none.
void check_cuts(const std::vector<TracedRank>& ranks) {
  const MeasuredRun whole = measured_run(ranks, {}, {});
  REQUIRE(whole.numbers == std::vector<std::uint32_t>{0, 1, 2});
  for (std::size_t first = 1; first < ranks[0].ops.ops.size() / 3; ++first) {
    CAPTURE(first);
    const std::int64_t begin_ns = ranks[0].ops.ops[first].span.begin_ns;
    std::vector<TracedRank> cut = ranks;
    for (TracedRank& rank : cut) {
      std::erase_if(rank.ops.ops,
                    [&](const MeasuredOp& op) { return op.span.begin_ns < begin_ns; });
    }
    const MeasuredRun run = measured_run(std::move(cut), {}, {});
    CHECK(run.numbers == std::vector<std::uint32_t>{1, 2});
    check_last_step(run, whole);
    REQUIRE(run.left_out.size() == 1);
    CHECK(run.left_out[0].starts_with("step 0: "));
  }
}

}  // namespace

TEST_CASE("iterations: a capture that begins within a step, without steps, has the later ones") {
  for (const char* schedule : {steady_order, R"({"name": "gpipe", "microbatches": 6})"}) {
    Traces traces = three_steps(schedule, {.steps = false});
    check_cuts(ranks_of(traces));
  }
}

// Forwards run in the order 1, 0, 3, 2, 5, 4. The last rank of 1F1B may begin a step with any.
TEST_CASE("iterations: that holds for microbatches that do not ascend") {
  for (const char* schedule : {steady_order, R"({"name": "gpipe", "microbatches": 6})"}) {
    Traces traces = three_steps(schedule, {.steps = false});
    std::vector<TracedRank> ranks = ranks_of(traces);
    for (TracedRank& rank : ranks) {
      for (MeasuredOp& op : rank.ops.ops) {
        op.action.microbatch = Microbatch{index(op.action.microbatch) ^ 1U};
      }
    }
    check_cuts(ranks);
  }
}

TEST_CASE("iterations: that holds for one rank, whose capture may begin between microbatches") {
  const std::string one_stage =
      R"({"penstock": 1, "model": {"stages": [{"forward_us": 3, "backward_us": 6}]},
      "hardware": {"name": "ideal", "devices": 1}, "schedule": )" +
      std::string(steady_order) + "}";
  Traces traces(varied_runs(one_stage, 3), {.steps = false});
  check_cuts(ranks_of(traces));
}

// One rank's capture begins one or two steps behind that of the others, all within a step.
TEST_CASE("iterations: captures that begin within different steps are one run by their times") {
  Traces traces(varied_runs(three_stages(steady_order), 4), {.steps = false});
  const std::vector<TracedRank> ranks = ranks_of(traces);
  const MeasuredRun whole = measured_run(ranks, {}, {});
  for (std::size_t late = 0; late < 3; ++late) {
    for (std::size_t steps = 1; steps <= 2; ++steps) {
      CAPTURE(late);
      CAPTURE(steps);
      std::vector<TracedRank> cut = ranks;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        cut_front(rank == late ? 5 + 12 * steps : 5, cut[rank]);
      }
      const MeasuredRun run = measured_run(std::move(cut), {}, {});
      CHECK(run.numbers ==
            (steps == 1 ? std::vector<std::uint32_t>{2, 3} : std::vector<std::uint32_t>{3}));
      CHECK(run.left_out.size() == 1 + steps);
      check_last_step(run, whole);
    }
  }
}

// The capture of rank 1 has no op of the first step, and its clock could be as wrong as that.
TEST_CASE("iterations: ranks whose steps may be others are noted, unless steps have numbers") {
  for (const bool steps : {false, true}) {
    Traces traces = three_steps(steady_order, {.steps = steps});
    std::vector<TracedRank> ranks = ranks_of(traces);
    cut_front(12, ranks[1]);
    const MeasuredRun run = measured_run(std::move(ranks), {}, {});
    CHECK(run.unaligned.starts_with("the clocks of ranks 0 and 1 differ by half a step") != steps);
  }
}

TEST_CASE("iterations: a step that one rank lacks is left out with that rank") {
  Traces traces = three_steps(steady_order, {});
  std::vector<TracedRank> ranks = ranks_of(traces);
  std::erase_if(ranks[1].ops.ops, [](const MeasuredOp& op) { return op.step == 4; });
  const MeasuredRun run = measured_run(std::move(ranks), {}, {});
  CHECK(run.numbers == std::vector<std::uint32_t>{3, 5});
  CHECK(run.left_out == std::vector<std::string>{"step 4: rank 1 has no op of it"});
}

TEST_CASE("iterations: a step that one rank lacks is listed beside another that it broke") {
  Traces traces = three_steps(steady_order, {});
  std::vector<TracedRank> ranks = ranks_of(traces);
  std::erase_if(ranks[1].ops.ops, [](const MeasuredOp& op) { return op.step != 3; });
  ranks[1].ops.broken_steps = {{4, "step 4: other bursts"}};
  const std::string source = ranks[1].source;
  const MeasuredRun run = measured_run(std::move(ranks), {}, {});
  CHECK(run.left_out == std::vector<std::string>{"step 5: rank 1 has no op of it",
                                                 source + ": step 4: other bursts"});
}

}  // namespace penstock::testing
