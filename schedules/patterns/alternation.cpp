#include "schedules/patterns/alternation.hpp"

#include <algorithm>
#include <deque>

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

Schedule one_f_one_b_order(std::string_view rule, std::uint32_t reach, const Placement& placement,
                           std::uint32_t microbatches, std::uint32_t update_every) {
  require_one_stage_a_rank(rule, placement);
  require_no_replicas(rule, placement);
  Schedule schedule(placement.ranks());
  for (Stage stage : placement.stages()) {
    schedule.on(placement.rank_of(stage)) = alternating_row(
        {.stage = stage,
         .warm_up = reach * (placement.stage_count() - 1 - placement.position(stage)),
         .microbatches = microbatches,
         .update_every = update_every});
  }
  return schedule;
}

std::vector<Action> with_split_backwards(const std::vector<Action>& row, std::uint32_t delay) {
  std::vector<Action> split;
  split.reserve(row.size() + row.size() / 2);
  std::deque<Action> weights;
  std::uint32_t done = 0;
  for (const Action& action : row) {
    if (action.pass == Pass::forward) {
      split.push_back(action);
      continue;
    }
    split.emplace_back(Pass::backward_input, action.stage, action.microbatch);
    weights.emplace_back(Pass::backward_weight, action.stage, action.microbatch);
    if (done++ < delay) continue;
    split.push_back(weights.front());
    weights.pop_front();
  }
  split.insert(split.end(), weights.begin(), weights.end());
  return split;
}

Schedule one_at_a_time(const Placement& placement, std::uint32_t microbatches,
                       const std::function<bool(Stage stage, Microbatch microbatch)>& splits) {
  Schedule schedule(placement.ranks());
  for (const Microbatch m : Numbers<Microbatch>(microbatches)) {
    const std::vector<Stage>& chain = placement.chains()[index(m) % placement.chains().size()];
    const auto add = [&](Pass pass, Stage stage) {
      schedule.on(placement.rank_of(stage, m)).emplace_back(pass, stage, m);
    };
    for (const Stage stage : chain) add(Pass::forward, stage);
    for (auto stage = chain.rbegin(); stage != chain.rend(); ++stage) {
      const bool split = splits(*stage, m);
      add(split ? Pass::backward_input : Pass::backward, *stage);
      if (split) add(Pass::backward_weight, *stage);
    }
  }
  return schedule;
}

Schedule zero_bubble_order(std::string_view rule, std::uint32_t reach, const Placement& placement,
                           const ScheduleOptions& options) {
  Schedule schedule = one_f_one_b_order(rule, reach, placement, options.microbatch_count);
  for (Stage stage : placement.stages()) {
    std::vector<Action>& row = schedule.on(placement.rank_of(stage));
    row = with_split_backwards(row, reach * placement.position(stage));
  }
  return schedule;
}

}  // namespace penstock
