#pragma once

#include <optional>
#include <string_view>

#include "validate/store/database.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// Puts a row in, with its environment and kernel where these are new, under its number or, where
/// that is 0, the next. Call it inside a transaction. Throws DatabaseError.
RowId insert_row(Database& database, const StoredRow& stored);

void insert_verdict(Database& database, RowId id, const RowVerdict& verdict);

}  // namespace penstock
