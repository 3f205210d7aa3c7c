#include "schedules/patterns/alternation.hpp"

#include <algorithm>

namespace penstock {

std::vector<Action> alternating_row(const Alternation& row) {
  const auto microbatch = [&](std::uint32_t turn) {
    return Microbatch{row.first + turn * row.step};
  };
  const std::uint32_t turns =
      row.microbatches <= row.first ? 0 : (row.microbatches - row.first + row.step - 1) / row.step;
  const std::uint32_t warm_up = std::min(row.warm_up, turns);
  std::vector<Action> order;
  order.reserve(std::size_t{row.update_every == 0 ? 2U : 3U} * turns);
  for (std::uint32_t turn = 0; turn < turns + warm_up; ++turn) {
    if (turn < turns) order.emplace_back(Pass::forward, row.stage, microbatch(turn));
    if (turn < warm_up) continue;
    const std::uint32_t done = turn - warm_up + 1;
    order.emplace_back(Pass::backward, row.stage, microbatch(done - 1));
    const bool updates = row.update_every != 0 && (done % row.update_every == 0 || done == turns);
    if (updates) order.emplace_back(Pass::update, row.stage, microbatch(done - 1));
  }
  return order;
}

Schedule one_f_one_b_order(std::string_view rule, const Placement& placement,
                           std::uint32_t microbatches, std::uint32_t update_every) {
  require_one_stage_a_rank(rule, placement);
  require_no_replicas(rule, placement);
  Schedule schedule(placement.ranks());
  for (Stage stage : placement.stages()) {
    schedule.on(placement.rank_of(stage)) =
        alternating_row({.stage = stage,
                         .warm_up = placement.stage_count() - 1 - placement.position(stage),
                         .microbatches = microbatches,
                         .update_every = update_every});
  }
  return schedule;
}

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
