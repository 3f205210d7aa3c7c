#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

/// For each row of one kernel: how many of the two nearest shapes, by the logarithms of their
/// sizes, are retired and not measured again. 0 for shapes that are not made of sizes, and for all
/// rows beyond 4096 shapes, where it would take too long.
std::vector<std::uint32_t> retired_neighbours(std::span<const StoredRow* const> rows);

}  // namespace penstock
