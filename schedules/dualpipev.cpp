#include <fmt/format.h>

#include "schedules/patterns/dual_pipe.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::dualpipev_file {
namespace {

/// DualPipe cut in half: the two directions become the two legs of a V, so one copy of the model is
/// enough.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_vee("dualpipev", placement);
  const std::uint32_t ranks = placement.ranks();
  if (options.microbatch_count < 2 * ranks) {
    throw RuleError(fmt::format("m = {} is too small for p = {}: it must be at least 2p",
                                options.microbatch_count, ranks));
  }
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    schedule.on(rank) =
        dual_pipe_row(ranks, index(rank), options.microbatch_count, {Stage{index(rank)}, 0},
                      {Stage{2 * ranks - 1 - index(rank)}, 0});
  }
  return schedule;
}

/// 2(p-1) idle slots of a chunk, 6m busy ones.
double bubble(std::uint32_t ranks, std::uint32_t /*chunks*/, std::uint32_t microbatches) {
  return share_idle(2 * (ranks - 1.0), 6.0 * microbatches);
}

}  // namespace

constinit extern const ScheduleEntry dualpipev_entry{
    .name = "dualpipev",
    .summary = "forward of one microbatch overlaps the backward of another, on a V of two chunks",
    .needs = "m >= 2p",
    .bubble = "(p-1)(f+2b-3w) of one chunk at i = f, w <= f",
    .peak = "2p+1",
    .default_chunks = 2,
    .place = vee_of_two,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock::dualpipev_file
