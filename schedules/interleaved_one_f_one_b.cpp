#include <array>

#include "schedules/patterns/interleaving.hpp"
#include "schedules/registry.hpp"

namespace penstock::interleaved_one_f_one_b_file {
namespace {

constexpr std::array<ScheduleOption, 1> takes{group_option};

/// With several chunks the warm-up is two forwards for each later rank; with one chunk it is that
/// of 1f1b.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  const bool one_chunk = placement.stage_count() == placement.ranks();
  return interleaved_order("interleaved-1f1b", one_chunk ? 1 : 2, placement, options);
}

}  // namespace

constinit extern const ScheduleEntry interleaved_one_f_one_b_entry{
    .name = "interleaved-1f1b",
    .summary = "1f1b with v chunks per rank: 1/v of the bubble, v times the transfers",
    .needs = group_needs,
    .bubble = "(p-1)(f+b) of one chunk, for m >= p",
    .peak = "min(mv, (v-1)group + min(v, 2)(p-1-r) + 1)",
    .default_chunks = 2,
    .options = takes,
    .place = Placement::loop,
    .make = make,
    .bubble_of_makespan = interleaved_bubble,
};

}  // namespace penstock::interleaved_one_f_one_b_file
