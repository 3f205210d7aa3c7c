#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::pipedream_file {
namespace {

/// The number of ranks that run stages from each position of the chain on.
std::vector<std::uint32_t> ranks_from(const Placement& placement, const std::vector<Stage>& chain) {
  std::vector<std::uint32_t> ranks(chain.size() + 1);
  for (std::size_t place = chain.size(); place-- > 0;) {
    ranks[place] = ranks[place + 1] + placement.replicas(chain[place]);
  }
  return ranks;
}

/// 1F1B for a whole epoch without a flush: a stage updates its weights after every backward.
/// Replicas take minibatches in turn. A replica has (ranks from its stage on - 1) / (replicas of
/// its stage) of its own minibatches in flight when its first backward starts.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_one_stage_a_rank("pipedream", placement);
  Schedule schedule(placement.ranks());
  const std::vector<Stage>& chain = placement.chains().front();
  const std::vector<std::uint32_t> from = ranks_from(placement, chain);
  for (std::size_t place = 0; place < chain.size(); ++place) {
    const std::uint32_t replicas = placement.replicas(chain[place]);
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      schedule.on(placement.rank_of(chain[place], Microbatch{replica})) =
          alternating_row({.stage = chain[place],
                           .warm_up = (from[place] - 1) / replicas,
                           .microbatches = options.microbatch_count,
                           .first = replica,
                           .step = replicas,
                           .update_every = 1});
    }
  }
  schedule.set_weights({WeightUse::newest});
  return schedule;
}

}  // namespace

constinit extern const ScheduleEntry pipedream_entry{
    .name = "pipedream",
    .summary = "asynchronous 1f1b: no flush, an update after every backward, p-r weight versions",
    .needs = "any ranks and microbatches; stages may have replicas",
    .bubble = "(p-1)(f+b) once per epoch",
    .peak = "min(m, p-r)",
    .weights = WeightUse::newest,
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock::pipedream_file
