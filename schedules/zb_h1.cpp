#include <limits>

#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::zb_h1_file {
namespace {

Schedule make(const Placement& placement, const ScheduleOptions& options) {
  return zero_bubble_order("zb-h1", 1, placement, options);
}

/// p-1 idle slots, 3m busy ones (F, I or W).
double bubble(std::uint32_t ranks, std::uint32_t /*chunks*/, std::uint32_t microbatches) {
  if (microbatches < 2 * ranks) return std::numeric_limits<double>::quiet_NaN();
  return share_idle(ranks - 1.0, 3.0 * microbatches);
}

}  // namespace

constinit extern const ScheduleEntry zb_h1_entry{
    .name = "zb-h1",
    .summary = "1f1b with the backward split: a third of the bubble in the same memory",
    .bubble = "(p-1) max(f+i-w, f, i), for m >= 2p",
    .peak = "min(m, p)",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock::zb_h1_file
