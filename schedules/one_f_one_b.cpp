#include <algorithm>

#include "schedules/registry.hpp"
#include "schedules/rules.hpp"

namespace penstock {
namespace {

/// As many forwards as there are stages behind, then forward and backward in turn, then the
/// backwards that are left (PipeDream-Flush, DAPPLE, Megatron).
void fill(std::vector<Action>& order, Stage stage, std::uint32_t stages_behind,
          std::uint32_t microbatches) {
  const std::uint32_t warm_up = std::min(stages_behind, microbatches);
  order.reserve(std::size_t{2} * microbatches);
  for (std::uint32_t m = 0; m < microbatches + warm_up; ++m) {
    if (m < microbatches) order.emplace_back(Pass::forward, stage, Microbatch{m});
    if (m >= warm_up) order.emplace_back(Pass::backward, stage, Microbatch{m - warm_up});
  }
}

Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_one_stage_a_rank("1f1b", placement);
  require_no_replicas("1f1b", placement);
  Schedule schedule(placement.ranks());
  for (Stage stage : placement.stages()) {
    fill(schedule.on(placement.rank_of(stage)), stage,
         placement.stage_count() - 1 - placement.position(stage), options.microbatch_count);
  }
  return schedule;
}

}  // namespace

constinit extern const ScheduleEntry one_f_one_b_entry{
    .name = "1f1b",
    .summary = "one forward, one backward in turn after a warm-up; holds p-r activations, not m",
    .bubble = "(p-1)(f+b)",
    .peak = "min(m, p-r)",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock
