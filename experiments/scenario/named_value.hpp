#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace penstock {

/// The enumerator of a name, in the order in which the schema lists them.
template <class Enum, std::size_t count>
Enum enumerator(const nlohmann::json& value, const std::array<const char*, count>& names) {
  const auto at = std::find(names.begin(), names.end(), value.get<std::string>());
  return Enum{static_cast<std::uint8_t>(at - names.begin())};
}

}  // namespace penstock
