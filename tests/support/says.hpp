#pragma once

#include <string_view>

namespace penstock::testing {

/// Whether a text has a part.
inline bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace penstock::testing
