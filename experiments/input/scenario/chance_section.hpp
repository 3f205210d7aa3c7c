#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "experiments/input/fields/fields.hpp"
#include "sim/costs/chance.hpp"

namespace penstock {

/// Machines that are slower than others, for good: which ones is unknown.
struct SlowMachines {
  double share = 0;   // probability of a machine to be slow
  double factor = 1;  // of its actions
};

/// "chance": random and fixed deviations of durations.
struct ChanceSection {
  Chance chance;
  std::optional<SlowMachines> slow_machines;
};

const Fields& chance_fields();

/// Reads the section, after the schema check. Throws InputError with a pointer into the scenario.
ChanceSection read_chance(const nlohmann::json& section);

}  // namespace penstock
