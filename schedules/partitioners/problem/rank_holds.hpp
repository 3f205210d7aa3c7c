#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What a rank holds at once while it runs its row of an order.
struct RankHolds {
  std::vector<std::uint32_t> stages;  // of the model, each once
  // By the stage whose action runs: moments, each with how many cells' activations of each stage
  // are there, from F or L to E, B or W. None of them has less of everything than another one.
  std::vector<std::vector<std::vector<std::uint32_t>>> most;
  std::vector<std::uint32_t> older;  // of each stage: weight versions alive beside the newest
};

/// By rank. An order without a backward keeps nothing.
std::vector<RankHolds> holds_of(const Schedule& schedule, const Placement& placement);

/// By model stage: the most cells that a rank keeps of it.
std::vector<std::uint32_t> most_cells(const std::vector<RankHolds>& holds);

/// By model stage: the most weight versions that a rank keeps of it beside the newest.
std::vector<std::uint32_t> most_older(const std::vector<RankHolds>& holds);

}  // namespace penstock
