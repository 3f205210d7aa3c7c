#include "schedules/registry.hpp"
#include "schedules/rules.hpp"
#include "schedules/zero_bubble.hpp"

namespace penstock {
namespace {

Schedule make(const Placement& placement, const ScheduleOptions& options) {
  return zero_bubble_order("zb-h2", 2, placement, options);
}

}  // namespace

constinit extern const ScheduleEntry zb_h2_entry{
    .name = "zb-h2",
    .summary = "zero-bubble with twice the warm-up: no gap inside a rank, for twice the memory",
    .bubble = "of the longest span: 0 for f = i = w and m >= 2p-1",
    .peak = "min(m, 2p-1)",
    .place = one_stage_a_rank,
    .make = make,
};

}  // namespace penstock
