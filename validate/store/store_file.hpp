#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "validate/store/database.hpp"

namespace penstock {

/// Makes a store without rows, unless there is a file of this name: under another name first, so
/// that nobody ever meets half a store. Throws DatabaseError and StoreError.
void make_store(const std::string& path);

/// Opens a store. Throws InputError for a file that is none, or of a newer schema, and
/// DatabaseError, also where it is damaged and not so large that looking through all of it would
/// take long.
std::unique_ptr<Database> open_store(const std::string& path, Database::Access access);

/// Whether a file begins as files of SQLite do.
bool looks_like_store(const std::string& path);

}  // namespace penstock
