#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/store/database.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// Makes a store without rows, unless a file of this name exists. Writes under another name first,
/// so that no half-made store is ever visible. Throws DatabaseError and StoreError.
void make_store(const std::string& path);

/// Opens a store. Throws InputError for another kind of file or a newer schema, and DatabaseError,
/// also for a damaged file if it is small enough to check in full.
std::unique_ptr<Database> open_store(const std::string& path, Database::Access access);

/// Whether a file begins like a SQLite file.
bool looks_like_store(const std::string& path);

/// What can still be read of a damaged store.
struct Recovery {
  std::size_t readable = 0;            // rows
  std::vector<UnreadableRow> damaged;  // rows that can be read in part, or of which only the number
                                       // is known
  bool count_is_known = true;  // otherwise nobody knows how many rows there were, and `damaged`
                               // lacks those of which nothing can be read
};

/// Looks for every row by its number, wherever the file is damaged. A row is readable if it matches
/// its checksum. Throws InputError if the file is not a store, or if even its list of tables is
/// unreadable.
Recovery examine_store(const std::string& path);

/// Also writes the readable rows into a new store, with their numbers and verdicts; without
/// readable rows there is no new store. Throws UsageError if a file of this name exists.
Recovery recover_store(const std::string& path, const std::string& into);

}  // namespace penstock
