#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "validate/store/database.hpp"
#include "validate/store/store_error.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

using ReadRow = std::variant<StoredRow, UnreadableRow>;

/// Reads rows one by one, each by its number, so that damage to one leaves the others.
class RowReader {
 public:
  explicit RowReader(const Database& database);

  /// Nothing: there is no row of this number. Throws DatabaseError.
  std::optional<ReadRow> read(RowId id);
  std::vector<RowVerdict> verdicts(RowId id);

 private:
  Statement row_;
  Statement verdicts_;
};

/// Runs a step on a store. What SQLite says becomes an InputError or a StoreError, with the store's
/// name in front and what became of its rows.
[[noreturn]] void rethrow(const std::string& path, const DatabaseError& error);
template <class Step>
auto in_store(const std::string& path, Step step) {
  try {
    return step();
  } catch (const DatabaseError& error) {
    rethrow(path, error);
  }
}

}  // namespace penstock
