#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Time and memory of one microbatch in a stage, for policies that plan ahead.
struct StagePrice {
  Time forward{};
  Time input{};                        // I
  Time weight{};                       // W
  Time to_next{};                      // activation: from the end of F until the next stage has it
  Time to_previous{};                  // gradient: from the end of I
  std::uint64_t activation_bytes = 1;  // allocated by F
  std::uint64_t pending_bytes = 1;     // the share that W still holds after I

  friend bool operator==(const StagePrice&, const StagePrice&) = default;
};

/// The prices of each stage of a plan with split backwards. Stages without buffers hold one byte
/// until W ends. Transfers are priced without contention.
std::vector<StagePrice> stage_prices(const Plan& plan, const Costs& costs);

/// The passes F, I and W of each stage of a chain, one stage per rank, in running order;
/// microbatches ascend in each pass. A rank holds at most `activations` of its own; I frees a part
/// of each. `prices` has the stages of the chain, first to last.
///
/// Tries several rows, all greedy: F before I, and W only while the next of these is not ready.
/// They differ in the microbatches in flight per rank, p-r, 2(p-r)-1 or 2(p-r), and in the shortest
/// wait that a W fills: any, half a W, or a whole W. The best has the shortest busy span on its
/// busiest rank; ties go to the shorter makespan, then to fewer bytes held.
std::vector<std::vector<Pass>> zero_bubble_rows(std::span<const StagePrice> prices,
                                                std::uint32_t microbatches,
                                                std::uint32_t activations);

}  // namespace penstock
