#include <algorithm>
#include <array>
#include <deque>
#include <limits>

#include "schedules/interleaving.hpp"
#include "schedules/registry.hpp"
#include "schedules/rules.hpp"

namespace penstock {
namespace {

constexpr std::array<ScheduleOption, 1> takes{group_option};

/// The interleaved table with a short warm-up and the backward split: once r input gradients are
/// done, each is followed by the oldest weight gradient that waits (PyTorch's
/// ScheduleInterleavedZeroBubble).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_no_replicas("interleaved-zb", placement);
  const std::uint32_t ranks = placement.ranks();
  const std::uint32_t group = interleaved_group(options, ranks);
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    const std::vector<Stage> chunks = looped_chunks("interleaved-zb", placement, rank);
    const std::size_t last = chunks.size() - 1;
    const std::vector<Turn> table = interleaved_turns(static_cast<std::uint32_t>(chunks.size()),
                                                      options.microbatch_count, group);
    const std::size_t warm_up = std::min(table.size(), last * group + (ranks - 1 - index(rank)));
    auto& order = schedule.on(rank);
    std::deque<Action> weights;
    for (std::size_t k = 0; k < table.size() + warm_up; ++k) {
      if (k < table.size()) {
        order.emplace_back(Pass::forward, chunks[table[k].chunk], table[k].microbatch);
      }
      if (k < warm_up) continue;
      const std::size_t backward = k - warm_up;
      const Stage stage = chunks[last - table[backward].chunk];
      order.emplace_back(Pass::backward_input, stage, table[backward].microbatch);
      weights.emplace_back(Pass::backward_weight, stage, table[backward].microbatch);
      if (backward >= index(rank)) {
        order.push_back(weights.front());
        weights.pop_front();
      }
    }
    order.insert(order.end(), weights.begin(), weights.end());
  }
  return schedule;
}

/// p-1 slots of F, I or W of a chunk beside 3mv of them.
double bubble(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t microbatches) {
  if (microbatches < ranks) return std::numeric_limits<double>::quiet_NaN();
  return share_idle(ranks - 1.0, 3.0 * microbatches * chunks);
}

}  // namespace

constinit extern const ScheduleEntry interleaved_zb_entry{
    .name = "interleaved-zb",
    .summary = "interleaved with the backward split; weight gradients fill the gaps",
    .needs = group_needs,
    .bubble = "(p-1)(f+i-w) of one chunk at f = i = w, for m >= p",
    .peak = "min(mv, (v-1)group + p)",
    .default_chunks = 2,
    .options = takes,
    .place = Placement::loop,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock
