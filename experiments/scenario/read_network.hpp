#pragma once

#include <nlohmann/json_fwd.hpp>

#include "hardware_models/registry.hpp"

namespace penstock {

/// Reads what the "hardware" of a scenario says about shared links, routes, topology, collectives
/// and host; the schema has checked it. Throws InputError for an algorithm that there is not.
void read_network(const nlohmann::json& hardware, HardwareSpec& spec);

}  // namespace penstock
