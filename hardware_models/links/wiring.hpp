#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/hardware_spec.hpp"
#include "sim/costs/network.hpp"

namespace penstock {

/// The physical links of some hardware, and how they lead from one rank to another.
struct Wiring {
  std::vector<NetworkLink> links;
  std::function<Route(const Link&)> route;  // throws InputError where they do not
};

/// What a scenario says by links with routes, by links with ends, or by a kind of topology. Throws
/// InputError when it says none of these or several, or names what is not there.
Wiring wiring_of(const HardwareSpec& spec);

// The three ways to say it.

/// Links by name, and routes that name them.
Wiring wiring_by_routes(const HardwareSpec& spec);
/// Links with ends: devices by number, "host", and switches by any other name. Devices forward, so
/// that rings and meshes of devices can be drawn.
Wiring wiring_by_ends(const HardwareSpec& spec);
/// A kind of topology, with a device for each that the degrees ask for.
Wiring wiring_by_kind(const HardwareSpec& spec);

/// A number as `std::to_string` would write it.
std::optional<std::uint32_t> number_in(std::string_view text);

/// The links by their names. Throws InputError when two share one.
std::map<std::string, std::uint32_t> numbers_by_name(const std::vector<NetworkLink>& links);

}  // namespace penstock
