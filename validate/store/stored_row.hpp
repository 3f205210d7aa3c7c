#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/store/profile_row.hpp"

namespace penstock {

/// The schema version that this program writes.
constexpr std::int64_t store_schema = 1;

/// The number of a row in its store, from 1.
enum class RowId : std::int64_t {};
constexpr std::int64_t index(RowId id) { return static_cast<std::int64_t>(id); }

/// Whether a row is valid.
enum class RowState : std::uint8_t {
  valid,
  suspect,  // predicted invalid, until measured again
  retired,  // invalid; kept, but never used
};
std::string_view name(RowState state);
std::optional<RowState> row_state(std::string_view name);

/// A row of a store.
struct StoredRow {
  RowId id{};
  ProfileRow row;
  RowState state = RowState::valid;
  std::int64_t environment = 0;   // number of its environment in the store
  std::int64_t schema = 0;        // schema version in which it was written
  std::optional<RowId> origin{};  // the row that it repeats or is taken over from
};

/// Why a row changed its state.
struct RowVerdict {
  std::string at;  // UTC, "2026-11-21T18:40:00Z"
  RowState state = RowState::valid;
  std::string why;
};

/// A change of a row's state.
struct StateChange {
  RowId id{};
  RowState state = RowState::valid;
  std::string why;
  std::optional<RowState> from{};  // applies only in this state; nothing: in any
};

/// A row derived from another: measured again, or taken over into another environment.
struct DerivedRow {
  ProfileRow row;
  RowId origin{};
  std::string why;
};

/// A row that cannot be read: damaged, or written by another program.
struct UnreadableRow {
  RowId id{};
  std::string why;
};

}  // namespace penstock
