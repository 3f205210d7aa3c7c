#include "schedules/patterns/rules.hpp"

#include <fmt/format.h>

#include <vector>

#include "sim/base/error.hpp"

namespace penstock {

Placement one_stage_a_rank(std::uint32_t ranks, std::uint32_t chunks) {
  if (chunks != 1) {
    throw RuleError(fmt::format("needs 1 chunk per rank, got {}", chunks));
  }
  return Placement::loop(ranks, 1);
}

namespace {

void require_two_chunks(std::uint32_t chunks) {
  if (chunks == 2) return;
  throw RuleError(fmt::format("needs 2 chunks per rank, got {}", chunks));
}

}  // namespace

Placement vee_of_two(std::uint32_t ranks, std::uint32_t chunks) {
  require_two_chunks(chunks);
  return Placement::vee(ranks, 2);
}

Placement two_directions(std::uint32_t ranks, std::uint32_t chunks) {
  require_two_chunks(chunks);
  return Placement::bidirectional(ranks);
}

void require_vee(std::string_view rule, const Placement& placement, std::uint32_t chunks) {
  if (placement == Placement::vee(placement.ranks(), chunks)) return;
  throw RuleError(
      fmt::format("{} needs {} stages per rank that snake over the ranks: 0, 1, …, p-1, "
                  "p-1, …, 0",
                  rule, chunks));
}

void require_two_directions(std::string_view rule, const Placement& placement) {
  if (placement == Placement::bidirectional(placement.ranks())) return;
  throw RuleError(
      fmt::format("{} needs two copies of the model in opposite directions of the ranks", rule));
}

void require_one_stage_a_rank(std::string_view rule, const Placement& placement) {
  std::vector<std::uint32_t> held(placement.ranks());
  for (std::uint32_t slot = 0; slot < placement.slots(); ++slot) {
    const Rank rank = placement.rank_of_slot(slot);
    if (++held[index(rank)] > 1) {
      throw RuleError(
          fmt::format("rank {} holds several stages; {} needs one per rank", index(rank), rule));
    }
  }
}

void require_no_replicas(std::string_view rule, const Placement& placement) {
  for (Stage stage : placement.stages()) {
    if (placement.replicas(stage) > 1) {
      throw RuleError(fmt::format("stage {} has {} replicas; {} supports one", index(stage),
                                  placement.replicas(stage), rule));
    }
  }
}

double fill_and_drain_bubble(std::uint32_t ranks, std::uint32_t /*chunks*/,
                             std::uint32_t microbatches) {
  return (ranks - 1.0) / (microbatches + ranks - 1.0);
}

}  // namespace penstock
