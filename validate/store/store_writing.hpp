#pragma once

#include <optional>
#include <string_view>

#include "validate/store/database.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// Inserts a row, with its environment and kernel if these are new, under its number, or the next
/// one if that is 0. Call it inside a transaction. Throws DatabaseError.
RowId insert_row(Database& database, const StoredRow& stored);

void insert_verdict(Database& database, RowId id, const RowVerdict& verdict);

}  // namespace penstock
