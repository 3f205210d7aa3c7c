#include <limits>

#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::zb_h2_file {
namespace {

Schedule make(const Placement& placement, const ScheduleOptions& options) {
  return zero_bubble_order("zb-h2", 2, placement, options);
}

/// No gaps inside a rank, but each starts one slot after the previous one: p-1 idle slots, 3m busy
/// ones.
double bubble(std::uint32_t ranks, std::uint32_t /*chunks*/, std::uint32_t microbatches) {
  if (microbatches < 2 * ranks - 1) return std::numeric_limits<double>::quiet_NaN();
  return share_idle(ranks - 1.0, 3.0 * microbatches);
}

}  // namespace

constinit extern const ScheduleEntry zb_h2_entry{
    .name = "zb-h2",
    .summary = "zero-bubble with twice the warm-up: no bubble inside a rank, twice the memory",
    .bubble = "of the longest span: 0 for f = i = w and m >= 2p-1",
    .peak = "min(m, 2p-1)",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock::zb_h2_file
