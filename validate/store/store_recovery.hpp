#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

/// What can still be read of a damaged store.
struct Recovery {
  std::size_t readable = 0;            // rows
  std::vector<UnreadableRow> damaged;  // rows that can be read in part, or of which only the number
                                       // is known
};

/// Looks for every row by its number, wherever the file is damaged. A row is readable if it matches
/// its checksum. Throws InputError if the file is not a store, or if even its list of tables is
/// unreadable.
Recovery examine_store(const std::string& path);

/// Also writes the readable rows into a new store, with their numbers and verdicts; without
/// readable rows there is no new store. Throws UsageError if a file of this name exists.
Recovery recover_store(const std::string& path, const std::string& into);

}  // namespace penstock
