#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

/// For each of some rows of one kernel, how many of the two shapes nearest to its own, by the
/// logarithms of their sizes, were retired and not measured anew. 0 for shapes that are not made of
/// sizes, and for all where there are more than 4096 shapes, for the time that would take.
std::vector<std::uint32_t> retired_neighbours(std::span<const StoredRow* const> rows);

}  // namespace penstock
