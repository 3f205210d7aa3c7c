#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "validate/store/database.hpp"

namespace penstock {

/// Makes a store without rows, unless a file of this name exists. Writes under another name first,
/// so that no half-made store is ever visible. Throws DatabaseError and StoreError.
void make_store(const std::string& path);

/// Opens a store. Throws InputError for another kind of file or a newer schema, and DatabaseError,
/// also for a damaged file if it is small enough to check in full.
std::unique_ptr<Database> open_store(const std::string& path, Database::Access access);

/// Takes back what a writer that was killed left half done, and brings in rows of an old store that
/// wait beside it, where that is possible.
void complete_store(const std::string& path);

/// Whether a file begins like a SQLite file.
bool looks_like_store(const std::string& path);

}  // namespace penstock
