#include <fmt/format.h>

#include <algorithm>

#include "schedules/patterns/dual_pipe.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::dualpipe_file {
namespace {

/// Two copies of the model in opposite directions, each with half the microbatches. The forward of
/// one direction overlaps the backward of the other (DeepSeek-V3).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_two_directions("dualpipe", placement);
  const std::uint32_t ranks = placement.ranks();
  const std::uint32_t microbatches = options.microbatch_count;
  if (ranks % 2 != 0 || microbatches % 2 != 0 || microbatches < 2 * ranks) {
    throw RuleError(fmt::format("p = {} and m = {} do not fit: both must be even and m at least 2p",
                                ranks, microbatches));
  }
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    const std::uint32_t r = index(rank);
    DualPipeSide down{Stage{r}, 0};
    DualPipeSide up{Stage{2 * ranks - 1 - r}, microbatches / 2};
    if (r >= ranks / 2) std::swap(down, up);
    schedule.on(rank) =
        dual_pipe_row(ranks / 2, std::min(r, ranks - 1 - r), microbatches / 2, down, up);
  }
  return schedule;
}

/// 2(p/2-1) idle slots, 3m busy ones.
double bubble(std::uint32_t ranks, std::uint32_t /*chunks*/, std::uint32_t microbatches) {
  return share_idle(ranks - 2.0, 3.0 * microbatches);
}

}  // namespace

constinit extern const ScheduleEntry dualpipe_entry{
    .name = "dualpipe",
    .summary = "bidirectional: forwards of one direction overlap backwards of the other",
    .needs = "p even, m even, m >= 2p; two copies of the weights",
    .bubble = "(p/2-1)(f+2b-3w) at i = f, w <= f",
    .peak = "p+1",
    .default_chunks = 2,
    .copies = 2,
    .place = two_directions,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock::dualpipe_file
