#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/store/profile_row.hpp"

namespace penstock {

/// The version of stores that this program writes.
constexpr std::int64_t store_schema = 1;

/// The number of a row in its store, from 1.
enum class RowId : std::int64_t {};
constexpr std::int64_t index(RowId id) { return static_cast<std::int64_t>(id); }

/// Whether a row is valid.
enum class RowState : std::uint8_t {
  valid,
  suspect,  // predicted invalid, until it is measured again
  retired,  // invalid; kept, but never used
};
std::string_view name(RowState state);
std::optional<RowState> row_state(std::string_view name);

/// A row of a store.
struct StoredRow {
  RowId id{};
  ProfileRow row;
  RowState state = RowState::valid;
  std::int64_t environment = 0;   // the number of its environment in the store
  std::int64_t schema = 0;        // the version of the schema that it was written in
  std::optional<RowId> origin{};  // the row that it repeats, or was taken over from
};

/// Why a row changed its state.
struct RowVerdict {
  std::string at;  // UTC, "2026-11-21T18:40:00Z"
  RowState state = RowState::valid;
  std::string why;
};

/// A row that changes its state.
struct StateChange {
  RowId id{};
  RowState state = RowState::valid;
  std::string why;
  std::optional<RowState> from{};  // applies only in this state; nothing: in any
};

/// A row that comes from another one: measured again, or taken over into another environment.
struct DerivedRow {
  ProfileRow row;
  RowId origin{};
  std::string why;
};

/// A row that a store has but does not give: damaged, or written by another hand.
struct UnreadableRow {
  RowId id{};
  std::string why;
};

}  // namespace penstock
