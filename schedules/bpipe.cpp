#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/offload.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::bpipe_file {
namespace {

/// 1F1B in which rank r lends memory to rank p-1-r. The first ranks hold the most activations, the
/// last ranks the fewest; each pair holds p+1 together. A rank that would hold more than
/// ceil((p+2)/2) evicts its newest activation to its partner and loads it back one backward before
/// its use. The partner stays within the same limit: it holds its own r+1, and at most p-r+1 minus
/// those at home.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  Schedule schedule = one_f_one_b_order("bpipe", 1, placement, options.microbatch_count);
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
        "1f1b that evicts activations from the first ranks to the last and loads them back; on "
        "slow links ranks also hold what is still in transit",
    .bubble = "(p-1)(f+b)",
    .peak = "at most min(m, ceil((p+2)/2))",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock::bpipe_file
