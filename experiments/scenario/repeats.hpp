#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penstock {

/// How often a layer, at `source` in the scenario, is repeated; `before` it there are so many.
/// Throws InputError for more layers in all than there can be.
std::uint32_t repeats(const nlohmann::json& layer, const std::string& source, std::size_t before);

}  // namespace penstock
