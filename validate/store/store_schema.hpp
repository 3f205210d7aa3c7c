#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "validate/store/database.hpp"

namespace penstock {

/// The tables of a profile store:
///
///   meta     version of the program
///   env      environments of the measurements: the keys that count, and all keys
///   kernel   measured kernels, with the hash of their source and flags
///   profile  a row: environment, kernel, shape, condition, state, time, checksum
///   sample   samples of a row, as little-endian doubles
///   verdict  why a row changed its state, and when
///
/// The application id in the header of the file.
constexpr std::int64_t store_application_id = 0x5065'6e73;  // "Pens"

/// Makes the tables in an empty file. `version` is that of the program.
void make_tables(Database& database, std::int64_t schema);

/// Why a file is not a store of this version or an older one; nothing: it is one. Its tables must
/// match those of `make_tables` letter by letter, so that nothing defined in a foreign file is ever
/// run.
std::optional<std::string> why_no_store(Database& database, std::int64_t schema);

/// Finds the newest row of a point: identity of the environment, kernel, pass, build, shape,
/// condition, state.
extern const std::string_view newest_row_sql;

}  // namespace penstock
