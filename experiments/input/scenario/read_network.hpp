#pragma once

#include <nlohmann/json_fwd.hpp>

#include "hardware_models/registry.hpp"

namespace penstock {

/// Reads links, routes, topology, collectives and host of "hardware", after the schema check.
/// Throws InputError for an unknown algorithm.
HardwareSpec read_network(const nlohmann::json& hardware);

}  // namespace penstock
