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

/// The physical links of a machine, and the routes between ranks.
struct Wiring {
  std::vector<NetworkLink> links;
  std::function<Route(const Link&)> route;  // throws InputError when there is none
};

/// The wiring of a scenario: links with routes, links with ends, or a topology. Throws InputError
/// when it has none or several of these, or a name that does not exist.
Wiring wiring_of(const HardwareSpec& spec);

// The three forms.

/// Named links, and routes over them.
Wiring wiring_by_routes(const HardwareSpec& spec);
/// Links with ends: a device number, "host", or any other name for a switch. Devices forward, so
/// rings and meshes of devices are possible.
Wiring wiring_by_ends(const HardwareSpec& spec);
/// A topology with the devices that the degrees of parallelism need.
Wiring wiring_by_kind(const HardwareSpec& spec);

/// A number in the spelling of `std::to_string`.
std::optional<std::uint32_t> number_in(std::string_view text);

/// The links by name. Throws InputError for a duplicate.
std::map<std::string, std::uint32_t> numbers_by_name(const std::vector<NetworkLink>& links);

}  // namespace penstock
