#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace penstock {

/// Lists of lists of stages, ranks or layers.
template <class Number>
std::vector<std::vector<Number>> number_lists(const nlohmann::json& lists) {
  std::vector<std::vector<Number>> all;
  for (const nlohmann::json& list : lists) {
    all.emplace_back();
    for (const nlohmann::json& number : list) {
      all.back().push_back(Number{number.get<std::uint32_t>()});
    }
  }
  return all;
}

}  // namespace penstock
