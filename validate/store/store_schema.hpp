#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "validate/store/database.hpp"

namespace penstock {

/// The tables of a profile store:
///
///   meta     what made it
///   env      where rows were measured: the keys that count, and all of them
///   kernel   what was measured, with the hash of its source and flags
///   profile  a row: environment, kernel, shape, condition, state, time, checksum of all of it
///   sample   its samples, as little-endian doubles
///   verdict  what was said of a row, and when
///
/// The number that says so in the head of the file.
constexpr std::int64_t store_application_id = 0x5065'6e73;  // "Pens"

/// Makes the tables in an empty file. `version` is that of the program.
void make_tables(Database& database, std::int64_t schema);

/// Why a file is no store of this version or an older one; nothing: it is one. Whether its tables
/// are those that `make_tables` makes is compared letter by letter, so that nothing that a file
/// brings along is ever run.
std::optional<std::string> why_no_store(Database& database, std::int64_t schema);

/// Finds the newest row of a point: identity of the environment, kernel, pass, build, shape,
/// condition, state.
extern const std::string_view newest_row_sql;

}  // namespace penstock
