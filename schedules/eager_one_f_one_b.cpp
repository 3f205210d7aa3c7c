#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::eager_one_f_one_b_file {
namespace {

/// Twice the warm-up of 1f1b, which hides the round trip over slow links; then one forward and one
/// backward in turn (Alpa's overlap-friendly order, like DAPPLE's policy B).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  return one_f_one_b_order("eager-1f1b", 2, placement, options.microbatch_count);
}

}  // namespace

constinit extern const ScheduleEntry eager_one_f_one_b_entry{
    .name = "eager-1f1b",
    .summary = "1f1b with a longer warm-up, which hides slow transfers for more memory",
    .bubble = "(p-1)(f+b)",
    .peak = "min(m, 2(p-r)-1)",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock::eager_one_f_one_b_file
