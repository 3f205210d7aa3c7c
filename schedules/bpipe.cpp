#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/offload.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock {
namespace {

/// 1F1B in which rank r lends memory to rank p-1-r. The first ranks hold the most activations and
/// the last the fewest, p+1 together; one that would hold more than ceil((p+2)/2) evicts the newest
/// to its partner and has it back one backward ahead of its own. The partner then holds at most as
/// many: its own r+1 and, while one leaves and another comes back, p-r+1 less what is at home.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  Schedule schedule = one_f_one_b_order("bpipe", placement, options.microbatch_count);
  const std::uint32_t ranks = placement.ranks();
  std::vector<Rank> keepers;
  for (Rank rank : Numbers<Rank>(ranks)) {
    schedule.on(rank) = offloaded_row(schedule.on(rank), rank, {.keep = (ranks + 3) / 2});
    keepers.push_back(Rank{ranks - 1 - index(rank)});
  }
  schedule.set_keepers(std::move(keepers));
  return schedule;
}

}  // namespace

constinit extern const ScheduleEntry bpipe_entry{
    .name = "bpipe",
    .summary =
        "1f1b that moves activations from the first ranks to the last and back; on slow links "
        "ranks "
        "hold what is still on its way, too",
    .bubble = "(p-1)(f+b)",
    .peak = "at most min(m, ceil((p+2)/2))",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock
