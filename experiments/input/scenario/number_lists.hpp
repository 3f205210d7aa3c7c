#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// Lists of lists of stages, ranks or layers. (A template, because headers only forward-declare the
/// JSON type.)
template <class Number, class Json>
std::vector<std::vector<Number>> number_lists(const Json& lists) {
  std::vector<std::vector<Number>> all;
  for (const Json& list : lists) {
    all.emplace_back();
    for (const Json& number : list) {
      all.back().push_back(Number{number.template get<std::uint32_t>()});
    }
  }
  return all;
}

}  // namespace penstock
