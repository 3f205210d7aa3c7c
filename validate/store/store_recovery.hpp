#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

/// What of a damaged store can still be read.
struct Recovery {
  std::size_t readable = 0;            // rows
  std::vector<UnreadableRow> damaged;  // rows of which a part can be read, or a number is known
};

/// Looks for every row by its number, wherever in the file damage has struck. A row counts as
/// readable when all of it is as its checksum says. Throws InputError for a file of which not even
/// the list of tables can be read, or that is no store.
Recovery examine_store(const std::string& path);

/// Also writes what can be read into a new store, under the numbers and with the verdicts that rows
/// had; where nothing can be read, there is no new store. Throws UsageError where there is a file
/// of this name.
Recovery recover_store(const std::string& path, const std::string& into);

}  // namespace penstock
