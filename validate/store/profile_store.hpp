#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/store/store_error.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

class Database;

/// All rows of a store, ascending, as far as they could be read.
struct StoredRows {
  std::vector<StoredRow> rows;
  std::vector<UnreadableRow> unreadable;
};

/// Measured rows in a file of SQLite. Several processes may read and write it at once; each call
/// that writes keeps all of what it was given, or nothing. Nothing is ever deleted.
///
/// Every call throws InputError, the file's name in front, where the file is no store, of a newer
/// version, or damaged, and StoreError where this computer is what hinders it.
class ProfileStore {
 public:
  enum class Access : std::uint8_t { read, write, create };  // create: if it is not there

  explicit ProfileStore(std::string path, Access access = Access::read);
  ProfileStore(ProfileStore&&) noexcept;
  ProfileStore& operator=(ProfileStore&&) noexcept;
  ~ProfileStore();

  const std::string& path() const { return path_; }

  /// Adds measured rows as valid. Throws InputError for one that says what no measurement can.
  std::vector<RowId> add(std::span<const ProfileRow> rows);
  /// Adds rows that repeat others, or are taken over from them, as valid.
  std::vector<RowId> add(std::span<const DerivedRow> rows);
  /// Moves rows to other states, with a verdict each, and returns those that it moved: a row that
  /// is there already, or no longer in the state that this was decided from, stays as it is. Throws
  /// UsageError for a row that is not there.
  std::vector<RowId> change(std::span<const StateChange> changes, std::string_view at);

  /// Moves a row to another state, or leaves it where it is there already, and adds the one that
  /// repeats it: both, or, where it is no longer in the state that this was decided from, nothing.
  std::optional<RowId> renew(const StateChange& change, const DerivedRow& again,
                             std::string_view at);

  StoredRows rows() const;
  /// Nothing: there is no such row.
  std::optional<StoredRow> row(RowId id) const;
  /// The newest row of a point that is in some state, as it was measured in an environment and with
  /// a build.
  std::optional<StoredRow> newest(const KernelPoint& point, std::string_view build,
                                  const std::map<std::string, std::string>& environment,
                                  RowState state = RowState::valid) const;
  /// What was said of a row, oldest first.
  std::vector<RowVerdict> verdicts(RowId id) const;

 private:
  std::string path_;
  std::unique_ptr<Database> database_;
};

}  // namespace penstock
