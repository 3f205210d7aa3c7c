#pragma once

#include <cstdint>
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

}  // namespace penstock
