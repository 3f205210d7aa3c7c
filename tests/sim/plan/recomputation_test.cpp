#include <doctest/doctest.h>

#include "sim/plan/lower.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// Stages with f = 1, b = 2, of which one takes 1 to be made again.
System pipeline(const char* csv, Recomputing recomputing) {
  Layer stage{.forward_us = 1, .backward_us = 2, .recompute_us = 1};
  const Schedule order = order_of(csv);
  System system{Placement::loop(order.ranks(), 1), order, std::vector<Layer>(order.ranks(), stage)};
  system.extras.recomputing = std::move(recomputing);
  return system;
}

/// What a rank does, with the times: "0F0 0-1, 0R0 …".
std::string recomputation_row_text(const Outcome& outcome, std::uint32_t rank) {
  return spans_text(outcome,
                    [&](TaskId task) { return outcome.plan.class_of(task).resource == rank; });
}

}  // namespace

TEST_CASE("an activation is made again in front of its backward once the gradient is there") {
  // Rank 1: F 1-2, R 2-3, B 3-5. The gradient comes to rank 0 at 5.
  const Outcome outcome = simulated(pipeline("0F0,0B0\n1F0,1B0", {{true, true}}));
  CHECK(recomputation_row_text(outcome, 0) == "0F0 0-1, 0R0 5-6, 0B0 6-8");
  CHECK(recomputation_row_text(outcome, 1) == "1F0 1-2, 1R0 2-3, 1B0 3-5");
  // The R waited, and the B behind it did not.
  CHECK(task_text(outcome.plan, outcome.timeline.last_input[task_of(outcome.plan, "0R0")]) ==
        "1SEND_B0");
  CHECK(outcome.timeline.last_input[task_of(outcome.plan, "0B0")] == no_task);
}

TEST_CASE("early, it is made again as soon as the rank is free") {
  const Outcome outcome = simulated(pipeline("0F0,0B0\n1F0,1B0", {{true, true}, /*early=*/true}));
  CHECK(recomputation_row_text(outcome, 0) == "0F0 0-1, 0R0 1-2, 0B0 5-7");
  CHECK(recomputation_row_text(outcome, 1) == "1F0 1-2, 1R0 2-3, 1B0 3-5");
}

TEST_CASE("a split backward makes its activation again in front of I, not of W") {
  System system = pipeline("0F0,0I0,0W0", {{true}});
  system.stages[0].backward_input_us = 1;
  system.stages[0].backward_weight_us = 1;
  CHECK(recomputation_row_text(simulated(system), 0) == "0F0 0-1, 0R0 1-2, 0I0 2-3, 0W0 3-4");
}

TEST_CASE("only stages that recompute do, and orders without backward never") {
  CHECK(recomputation_row_text(simulated(pipeline("0F0,0B0\n1F0,1B0", {{false, true}})), 0) ==
        "0F0 0-1, 0B0 5-7");
  CHECK(recomputation_row_text(simulated(pipeline("0F0,0F1", {{true}})), 0) == "0F0 0-1, 0F1 1-2");
}

TEST_CASE("except_last spares the microbatch with the highest number of each chain") {
  // Chain 0 runs microbatches 0 and 1 on stage 0, chain 1 runs 2 and 3 on stage 1, one rank.
  System system = pipeline("0F0,1F2,0F1,1F3,0B1,1B3,0B0,1B2", {{true}, false, true});
  system.placement = Placement::given(1, {{Rank{0}}, {Rank{0}}}, {{Stage{0}}, {Stage{1}}});
  CHECK(recomputation_row_text(simulated(system), 0) ==
        "0F0 0-1, 1F2 1-2, 0F1 2-3, 1F3 3-4, 0B1 4-6, 1B3 6-8, "
        "0R0 8-9, 0B0 9-11, 1R2 11-12, 1B2 12-14");
}

TEST_CASE("in an overlap cell the backward makes its activation again itself") {
  const char* csv = "0F0,(0F1;0B0)OVERLAP_F_B,0B1";
  System system = pipeline(csv, {{true}});
  CHECK(recomputation_row_text(simulated(system), 0) ==
        "0F0 0-1, 0F1 1-2, 0B0 2-5, 0R1 5-6, 0B1 6-8");
  system.overlap = Overlap::fused;  // max(1, 1 + 2)
  CHECK(recomputation_row_text(simulated(system), 0) ==
        "0F0 0-1, 0F1 1-4, 0B0 1-4, 0R1 4-5, 0B1 5-7");
}

TEST_CASE("early, it stands in front of the overlap cell") {
  System system = pipeline("0F0,(0F1;0B0)OVERLAP_F_B,0B1", {{true}, /*early=*/true});
  CHECK(recomputation_row_text(simulated(system), 0) ==
        "0F0 0-1, 0R0 1-2, 0F1 2-3, 0B0 3-5, 0R1 5-6, 0B1 6-8");
}

TEST_CASE("an R of the order stands where it stands and waits for its rank alone") {
  for (const bool asked : {false, true}) {
    CAPTURE(asked);
    System system = pipeline("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", {{asked, false}});
    system.schedule.on(Rank{0}) = actions_of("0F0 0F1 0R1 0B0 0B1");
    const std::string row = recomputation_row_text(simulated(system), 0);
    // Rank 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7.
    CHECK(row == (asked ? "0F0 0-1, 0F1 1-2, 0R1 2-3, 0R0 4-5, 0B0 5-7, 0B1 7-9"
                        : "0F0 0-1, 0F1 1-2, 0R1 2-3, 0B0 4-6, 0B1 7-9"));
  }
}

TEST_CASE("what R brings back is held from R to the end of B, or from F on without an R") {
  // Stash 1, brought back 100, one rank: two activations are kept, one of them is made again.
  Layer stage{.forward_us = 1, .backward_us = 2, .stash_bytes = 1, .recomputed_bytes = 100};
  System system = a_stage_each("0F0,0F1,0B0,0B1", {stage});
  system.extras.holds[static_cast<std::size_t>(BufferKind::recomputed)] = true;
  const auto peak = [&] { return simulated(system).report.ranks[0].memory.bytes; };
  CHECK(peak() == 202);
  system.extras.recomputing.stages = {true};
  CHECK(peak() == 102);
  system.extras.recomputing.except_last = true;  // microbatch 1 keeps all of its own
  CHECK(peak() == 202);
  CHECK(peak_activations(lowered(system)).front() == 2);
}

}  // namespace penstock::testing
