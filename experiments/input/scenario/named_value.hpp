#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace penstock {

/// The enumerator of a name, in the schema's order. (A template, because headers only
/// forward-declare the JSON type.)
template <class Enum, class Json, std::size_t count>
Enum enumerator(const Json& value, const std::array<const char*, count>& names) {
  const auto at = std::find(names.begin(), names.end(), value.template get<std::string>());
  return Enum{static_cast<std::uint8_t>(at - names.begin())};
}

}  // namespace penstock
