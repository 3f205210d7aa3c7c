#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::one_f_one_b_file {
namespace {

/// Warm-up of one forward for each later stage, then one forward and one backward in turn, then the
/// remaining backwards (PipeDream-Flush, DAPPLE, Megatron).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  return one_f_one_b_order("1f1b", 1, placement, options.microbatch_count);
}

}  // namespace

constinit extern const ScheduleEntry one_f_one_b_entry{
    .name = "1f1b",
    .summary = "after the warm-up one forward, one backward in turn; holds p-r activations, not m",
    .bubble = "(p-1)(f+b)",
    .peak = "min(m, p-r)",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock::one_f_one_b_file
