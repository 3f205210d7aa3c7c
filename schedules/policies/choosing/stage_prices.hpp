#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What one microbatch takes in a stage, for policies that plan ahead.
struct StagePrice {
  Time forward{};
  Time input{};        // I
  Time weight{};       // W
  Time to_next{};      // of an activation, from the end of F until the next stage has it
  Time to_previous{};  // of a gradient, from the end of I
  std::uint64_t activation_bytes = 1;  // from F on
  std::uint64_t pending_bytes = 1;     // of them, those that W still holds once I has ended

  friend bool operator==(const StagePrice&, const StagePrice&) = default;
};

/// The prices of each stage of a plan whose backwards are split. Stages that keep no bytes keep
/// one, up to the end of W. Transfers are priced as if each were alone.
std::vector<StagePrice> stage_prices(const Plan& plan, const Costs& costs);

}  // namespace penstock
