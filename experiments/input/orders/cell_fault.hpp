#pragma once

#include <cstddef>
#include <string>

namespace penstock {

/// The first fault of an order file. Rank and column count from 0; blank cells count.
struct CellFault {
  std::size_t rank;
  std::size_t column;
  std::string text;
};

}  // namespace penstock
