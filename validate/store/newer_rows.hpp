#pragma once

#include <optional>
#include <span>
#include <vector>

#include "validate/store/stored_row.hpp"
#include "validate/store/today.hpp"

namespace penstock {

/// For each row the valid one that replaces it, if there is one: the newest of the same point and
/// build and the same environment; or, of a row of this machine, that of today's environment.
std::vector<std::optional<RowId>> newer_rows(std::span<const StoredRow> rows, const Today& today);

}  // namespace penstock
