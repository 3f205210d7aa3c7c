#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "sim/costs/chance.hpp"

namespace penstock {

/// Machines that are slower than others, for good: which ones is unknown.
struct SlowMachines {
  double share = 0;   // probability of a machine to be slow
  double factor = 1;  // of its actions
};

/// Reads "slow_machines" of "chance", if it is there.
std::optional<SlowMachines> read_slow_machines(const nlohmann::json& section);

/// Reads "chance" of a scenario, after the schema check. Throws InputError with a pointer into the
/// scenario.
Chance read_chance(const nlohmann::json& section);

}  // namespace penstock
