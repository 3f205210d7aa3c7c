#include "schedules/patterns/building_block.hpp"

#include <deque>

#include "schedules/patterns/block_tightening.hpp"

namespace penstock {
namespace {

/// The order of a rank: its slots, with W in the free ones, that of the second stage first.
std::vector<Action> order_of(const BlockRow& row, Stage first, Stage second) {
  std::vector<Action> order;
  std::deque<Action> of_second, of_first;  // pending W
  const auto take = [&order](std::deque<Action>& pending) {
    order.push_back(pending.front());
    pending.pop_front();
  };
  for (const auto& action : row) {
    if (!action) {
      if (!of_second.empty()) {
        take(of_second);
      } else if (!of_first.empty()) {
        take(of_first);
      }
      continue;
    }
    const Microbatch m{action->number};
    switch (action->pass) {
      case BlockPass::first_forward:
        order.emplace_back(Pass::forward, first, m);
        break;
      case BlockPass::second_forward:
        order.emplace_back(Pass::forward, second, m);
        break;
      case BlockPass::second_input:
        order.emplace_back(Pass::backward_input, second, m);
        of_second.emplace_back(Pass::backward_weight, second, m);
        break;
      case BlockPass::first_input:
        order.emplace_back(Pass::backward_input, first, m);
        of_first.emplace_back(Pass::backward_weight, first, m);
        break;
      case BlockPass::weight:
        break;
    }
  }
  while (!of_second.empty()) take(of_second);
  while (!of_first.empty()) take(of_first);
  return order;
}

}  // namespace

Schedule grow(OffsetsOfRank offsets, std::uint32_t ranks, const ScheduleOptions& options) {
  BlockSlots slots(offsets, ranks, options.microbatch_count);
  slots.place_weights();
  tighten(slots);
  slots.squeeze();
  slots.remove_weights();
  tighten(slots);
  slots.place_weights();
  slots.squeeze();
  slots.remove_weights();
  Schedule schedule(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    schedule.on(Rank{rank}) = order_of(slots.row(rank), Stage{rank}, Stage{2 * ranks - 1 - rank});
  }
  return schedule;
}

}  // namespace penstock
