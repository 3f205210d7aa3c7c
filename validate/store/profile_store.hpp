#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

class Database;

/// All readable rows of a store, ascending.
struct StoredRows {
  std::vector<StoredRow> rows;
  std::vector<UnreadableRow> unreadable;
};

/// Measured rows in a SQLite file. Several processes may read and write it at once; each writing
/// call is atomic. Nothing is ever deleted.
///
/// Every call throws InputError, with the file's name, if the file is not a store, has a newer
/// version or is damaged, and StoreError if the computer prevents the operation.
class ProfileStore {
 public:
  enum class Access : std::uint8_t { read, write, create };  // create: if missing

  explicit ProfileStore(std::string path, Access access = Access::read);
  ~ProfileStore();

  const std::string& path() const { return path_; }

  /// Adds measured rows as valid. Throws InputError for an impossible row.
  std::vector<RowId> add(std::span<const ProfileRow> rows);
  /// Adds rows that repeat others or are taken over from them, as valid.
  std::vector<RowId> add(std::span<const DerivedRow> rows);
  /// Moves rows to other states, with a verdict each, and returns the moved rows. A row stays if it
  /// is in that state already, or no longer in the state on which this was decided. Throws
  /// UsageError for a missing row.
  std::vector<RowId> change(std::span<const StateChange> changes, std::string_view at);

  /// Moves a row to another state, unless it is there already, and adds the row that repeats it:
  /// both or nothing. Nothing if the row is no longer in the state on which this was decided.
  std::optional<RowId> renew(const StateChange& change, const DerivedRow& again,
                             std::string_view at);

  StoredRows rows() const;
  /// Nothing for a missing row.
  std::optional<StoredRow> row(RowId id) const;
  /// The verdicts on a row, oldest first.
  std::vector<RowVerdict> verdicts(RowId id) const;

 private:
  std::string path_;
  std::unique_ptr<Database> database_;
};

}  // namespace penstock
