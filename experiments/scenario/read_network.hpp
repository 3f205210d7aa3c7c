#pragma once

#include <nlohmann/json_fwd.hpp>

#include "hardware_models/registry.hpp"

namespace penstock {

/// Reads what the "hardware" of a scenario says in numbers about links, routes, topology,
/// collectives and host; the schema has checked it. Throws InputError for an algorithm that there
/// is not.
HardwareSpec read_network(const nlohmann::json& hardware);

}  // namespace penstock
