#include "schedules/patterns/zero_bubble.hpp"

#include <algorithm>

#include "schedules/patterns/rules.hpp"

namespace penstock {

Schedule zero_bubble_order(std::string_view rule, std::uint32_t reach, const Placement& placement,
                           const ScheduleOptions& options) {
  require_one_stage_a_rank(rule, placement);
  require_no_replicas(rule, placement);
  Schedule schedule(placement.ranks());
  const std::uint32_t microbatches = options.microbatch_count;
  for (Stage stage : placement.stages()) {
    const std::uint32_t place = placement.position(stage);
    const std::uint32_t warm_up =
        std::min(microbatches, reach * (placement.stage_count() - 1 - place));
    const std::uint32_t delay = reach * place;
    auto& order = schedule.on(placement.rank_of(stage));
    order.reserve(std::size_t{3} * microbatches);
    for (std::uint32_t k = 0; k < microbatches + warm_up + delay; ++k) {
      if (k < microbatches) order.emplace_back(Pass::forward, stage, Microbatch{k});
      if (k < warm_up) continue;
      const std::uint32_t input = k - warm_up;
      if (input < microbatches) {
        order.emplace_back(Pass::backward_input, stage, Microbatch{input});
      }
      if (input >= delay && input - delay < microbatches) {
        order.emplace_back(Pass::backward_weight, stage, Microbatch{input - delay});
      }
    }
  }
  return schedule;
}

}  // namespace penstock
