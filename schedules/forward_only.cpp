#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::forward_only_file {
namespace {

/// Inference: forwards only.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  Schedule schedule(placement.ranks());
  for (Stage stage : placement.stages()) {
    for (Microbatch m : options.microbatches()) {
      schedule.on(placement.rank_of(stage, m)).emplace_back(Pass::forward, stage, m);
    }
  }
  return schedule;
}

}  // namespace

constinit extern const ScheduleEntry forward_only_entry{
    .name = "forward-only",
    .summary = "inference: forwards only",
    .bubble = "(p-1)f",
    .peak = "1",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock::forward_only_file
