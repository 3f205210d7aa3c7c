#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/costs/chance.hpp"

namespace penstock {

/// Reads "chance" of a scenario, after the schema check. Throws InputError with a pointer into the
/// scenario.
Chance read_chance(const nlohmann::json& section);

}  // namespace penstock
