#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// Pictures, pages, traces and man pages carry this near their beginning or at their end, in the
/// way of comments of their format.
inline constexpr std::string_view own_mark = "written by Penstock, may be overwritten";

/// The application_id of SQLite files: "PENS".
inline constexpr std::int32_t sqlite_mark = 0x50454e53;

/// Which existing files an output may replace: those that Penstock alone writes, or any.
enum class Existing : std::uint8_t { own, any };

/// Whether Penstock wrote a file, as far as its content says so: it has `own_mark`, or begins as
/// timelines, rows of sweeps and tables do, or is JSON with the key "penstock" that is no scenario,
/// or a scenario whose description names the command that wrote it. Orders as CSV and reports as
/// text have no place for a mark, so they never are.
bool is_own_file(const std::string& path);

/// Throws UsageError if `path` is a file with content that must not be replaced.
void check_replaced(const std::string& path, Existing replaced);

}  // namespace penstock
