#include <algorithm>
#include <array>

#include "schedules/interleaving.hpp"
#include "schedules/registry.hpp"
#include "schedules/rules.hpp"

namespace penstock {
namespace {

constexpr std::array<ScheduleOption, 1> takes{group_option};

/// Megatron's interleaved schedule: forwards follow the table of turns, backwards the same table
/// with the chunks in reverse, in turn after a warm-up.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_no_replicas("interleaved-1f1b", placement);
  const std::uint32_t ranks = placement.ranks();
  const std::uint32_t group = interleaved_group(options, ranks);
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    const std::vector<Stage> chunks = looped_chunks("interleaved-1f1b", placement, rank);
    const std::size_t last = chunks.size() - 1;
    const std::vector<Turn> table = interleaved_turns(static_cast<std::uint32_t>(chunks.size()),
                                                      options.microbatch_count, group);
    const std::size_t ranks_behind = ranks - 1 - index(rank);
    const std::size_t warm_up =
        std::min(table.size(), (last == 0 ? 1 : 2) * ranks_behind + last * group);
    auto& order = schedule.on(rank);
    order.reserve(2 * table.size());
    for (std::size_t k = 0; k < table.size() + warm_up; ++k) {
      if (k < table.size()) {
        order.emplace_back(Pass::forward, chunks[table[k].chunk], table[k].microbatch);
      }
      if (k < warm_up) continue;
      const Turn& turn = table[k - warm_up];
      order.emplace_back(Pass::backward, chunks[last - turn.chunk], turn.microbatch);
    }
  }
  return schedule;
}

}  // namespace

constinit extern const ScheduleEntry interleaved_one_f_one_b_entry{
    .name = "interleaved-1f1b",
    .summary = "1f1b over several chunks a rank: a v-th of the bubble for more transfers",
    .needs = group_needs,
    .bubble = "(p-1)(f+b) of one chunk, for m >= p",
    .peak = "min(mv, (v-1)group + min(v, 2)(p-1-r) + 1)",
    .default_chunks = 2,
    .options = takes,
    .place = Placement::loop,
    .make = make,
    .bubble_of_makespan = interleaved_bubble,
};

}  // namespace penstock
