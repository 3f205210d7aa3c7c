#include <algorithm>

#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::eager_one_f_one_b_file {
namespace {

/// Nearly twice the warm-up of 1f1b, which hides the round trip over slow links; then one backward
/// and one forward in turn (Alpa's overlap-friendly order, like DAPPLE's policy B).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_one_stage_a_rank("eager-1f1b", placement);
  require_no_replicas("eager-1f1b", placement);
  Schedule schedule(placement.ranks());
  const std::uint32_t microbatches = options.microbatch_count;
  for (Stage stage : placement.stages()) {
    const std::uint32_t from_here = placement.stage_count() - placement.position(stage);
    const std::uint32_t warm_up = std::min(microbatches, 2 * from_here - 1);
    auto& order = schedule.on(placement.rank_of(stage));
    for (Microbatch m : Numbers<Microbatch>(warm_up)) order.emplace_back(Pass::forward, stage, m);
    for (Microbatch m : options.microbatches()) {
      order.emplace_back(Pass::backward, stage, m);
      const std::uint32_t next = index(m) + warm_up;
      if (next < microbatches) order.emplace_back(Pass::forward, stage, Microbatch{next});
    }
  }
  return schedule;
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
