#pragma once

#include <optional>
#include <span>
#include <vector>

#include "validate/store/stored_row.hpp"
#include "validate/store/today.hpp"

namespace penstock {

/// For each row the valid row that replaces it, if any: the newest of the same point, build and
/// environment, or, for a row of this machine, of today's environment.
std::vector<std::optional<RowId>> newer_rows(std::span<const StoredRow> rows, const Today& today);

}  // namespace penstock
