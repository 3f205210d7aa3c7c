#pragma once

#include <cstddef>
#include <string>

namespace penstock {

/// The first fault of an order file, by rank and column (from 0, blanks counted).
struct CellFault {
  std::size_t rank;
  std::size_t column;
  std::string text;
};

}  // namespace penstock
