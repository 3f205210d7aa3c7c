#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "validate/store/database.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

using ReadRow = std::variant<StoredRow, UnreadableRow>;

/// Reads rows one by one by number, so that a damaged row does not affect the others.
class RowReader {
 public:
  explicit RowReader(const Database& database);

  /// Nothing for a missing row. Throws DatabaseError.
  std::optional<ReadRow> read(RowId id);
  std::vector<RowVerdict> verdicts(RowId id);

 private:
  Statement row_;
  Statement verdicts_;
};

/// Runs a step on a store. Turns errors of SQLite into an InputError or a StoreError, with the
/// store's name and the fate of its rows.
[[noreturn]] void rethrow(const std::string& path, const DatabaseError& error);
template <class Step>
auto in_store(const std::string& path, Step step) {
  try {
    return step();
  } catch (const DatabaseError& error) {
    rethrow(path, error);
  }
}

/// Inserts a row, with its environment and kernel if these are new, under its number, or the next
/// one if that is 0. Call it inside a transaction. Throws DatabaseError.
RowId insert_row(Database& database, const StoredRow& stored);

void insert_verdict(Database& database, RowId id, const RowVerdict& verdict);

}  // namespace penstock
