#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penstock {

/// Repeats of the layer at `source` in the scenario. `before`: number of layers before it. Throws
/// InputError if the total exceeds the limit.
std::uint32_t repeats(const nlohmann::json& layer, const std::string& source, std::size_t before);

}  // namespace penstock
