#include "schedules/rules.hpp"

#include <fmt/format.h>

#include <vector>

#include "sim/error.hpp"

namespace penstock {

Placement one_stage_a_rank(std::uint32_t ranks, std::uint32_t chunks) {
  if (chunks != 1) {
    throw RuleError(fmt::format("there are {} chunks a rank; this schedule has one", chunks));
  }
  return Placement::loop(ranks, 1);
}

void require_one_stage_a_rank(std::string_view rule, const Placement& placement) {
  std::vector<std::uint32_t> held(placement.ranks());
  for (std::uint32_t slot = 0; slot < placement.slots(); ++slot) {
    const Rank rank = placement.rank_of_slot(slot);
    if (++held[index(rank)] > 1) {
      throw RuleError(
          fmt::format("rank {} holds several stages; {} has one a rank", index(rank), rule));
    }
  }
}

void require_no_replicas(std::string_view rule, const Placement& placement) {
  for (Stage stage : placement.stages()) {
    if (placement.replicas(stage) > 1) {
      throw RuleError(fmt::format("stage {} has {} replicas; {} is defined for one", index(stage),
                                  placement.replicas(stage), rule));
    }
  }
}

double fill_and_drain_bubble(std::uint32_t ranks, std::uint32_t /*chunks*/,
                             std::uint32_t microbatches) {
  return (ranks - 1.0) / (microbatches + ranks - 1.0);
}

}  // namespace penstock
