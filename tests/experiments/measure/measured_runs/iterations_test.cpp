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

}  // namespace

// Rank 0 runs 12 ops in a step. A capture that begins with any of them but the first, on all ranks
// at that time, has two whole steps; ranks that are ahead or behind have all of the first or none.
TEST_CASE("iterations: a capture that begins within a step, without steps, has the later ones") {
  for (const char* schedule : {steady_order, R"({"name": "gpipe", "microbatches": 6})"}) {
    Traces traces = three_steps(schedule, {.steps = false});
    const std::vector<TracedRank> ranks = ranks_of(traces);
    const MeasuredRun whole = measured_run(ranks, {}, {});
    REQUIRE(whole.numbers == std::vector<std::uint32_t>{0, 1, 2});
    for (std::size_t first = 1; first < 12; ++first) {
      CAPTURE(first);
      const std::int64_t begin_ns = ranks[0].ops.ops[first].span.begin_ns;
      std::vector<TracedRank> cut = ranks;
      for (TracedRank& rank : cut) {
        std::erase_if(rank.ops.ops,
                      [&](const MeasuredOp& op) { return op.span.begin_ns < begin_ns; });
      }
      const MeasuredRun run = measured_run(std::move(cut), {}, {});
      CHECK(run.numbers == std::vector<std::uint32_t>{1, 2});
      const Plan& plan = run.job.priced.plan;
      for (TaskId task = 0; task < plan.tasks(); ++task) {
        if (plan.is_link(plan.class_of(task).resource)) continue;
        CHECK(run.timeline.begin[task] == whole.timeline.begin[task]);
      }
      REQUIRE(run.left_out.size() == 1);
      CHECK(run.left_out[0].starts_with("step 0: "));
    }
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

}  // namespace penstock::testing
