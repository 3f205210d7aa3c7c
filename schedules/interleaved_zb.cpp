#include <array>
#include <deque>
#include <limits>
#include <vector>

#include "schedules/patterns/interleaving.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::interleaved_zb_file {
namespace {

constexpr std::array<ScheduleOption, 1> takes{group_option};

/// Splits each backward of a row into I and W. I takes the place of the backward; once `delay` of
/// them are done, each is followed by the oldest pending W.
std::vector<Action> split(const std::vector<Action>& order, std::uint32_t delay) {
  std::vector<Action> row;
  std::deque<Action> weights;
  std::uint32_t done = 0;
  for (const Action& action : order) {
    if (action.pass == Pass::forward) {
      row.push_back(action);
      continue;
    }
    row.emplace_back(Pass::backward_input, action.stage, action.microbatch);
    weights.emplace_back(Pass::backward_weight, action.stage, action.microbatch);
    if (done++ < delay) continue;
    row.push_back(weights.front());
    weights.pop_front();
  }
  row.insert(row.end(), weights.begin(), weights.end());
  return row;
}

/// The interleaved order with a short warm-up and the backward split; rank r keeps r W pending
/// (PyTorch's ScheduleInterleavedZeroBubble).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  Schedule schedule = interleaved_order("interleaved-zb", 1, placement, options);
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    schedule.on(rank) = split(schedule.on(rank), index(rank));
  }
  return schedule;
}

/// p-1 idle slots, 3mv busy ones (F, I or W of a chunk).
double bubble(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t microbatches) {
  if (microbatches < ranks) return std::numeric_limits<double>::quiet_NaN();
  return share_idle(ranks - 1.0, 3.0 * microbatches * chunks);
}

}  // namespace

constinit extern const ScheduleEntry interleaved_zb_entry{
    .name = "interleaved-zb",
    .summary = "interleaved with the backward split; weight gradients fill the bubble",
    .needs = group_needs,
    .bubble = "(p-1)(f+i-w) of one chunk at f = i = w, for m >= p",
    .peak = "min(mv, (v-1)group + p)",
    .default_chunks = 2,
    .options = takes,
    .place = Placement::loop,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock::interleaved_zb_file
