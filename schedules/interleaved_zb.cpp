#include <array>
#include <limits>

#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/interleaving.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::interleaved_zb_file {
namespace {

constexpr std::array<ScheduleOption, 1> takes{group_option};

/// The interleaved order with a short warm-up and the backward split; rank r keeps r W pending
/// (PyTorch's ScheduleInterleavedZeroBubble).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  Schedule schedule = interleaved_order("interleaved-zb", 1, placement, options);
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    schedule.on(rank) = with_split_backwards(schedule.on(rank), index(rank));
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
