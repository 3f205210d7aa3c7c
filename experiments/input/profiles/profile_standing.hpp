#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/input/profiles/profile_rows.hpp"
#include "validate/store/spot_check.hpp"
#include "validate/store/store_file.hpp"

namespace penstock {

/// "valid", "suspect", "retired", "unfit" for a row of another build or environment (valid there,
/// not here), or "past" for a row replaced by a newer one.
std::string_view standing_of(const RowJudgement& judgement);
constexpr std::array<std::string_view, 5> standings{"valid", "suspect", "retired", "unfit", "past"};

/// The number of rows of each standing.
std::vector<std::pair<std::string_view, std::size_t>> counts_of(const JudgedRows& judged);

/// Whether a row needs no action: it is valid or past.
bool is_sound(const RowJudgement& judgement);

/// The positions of all rows: suspect ones by descending score, then retired, unfit, valid and past
/// ones.
std::vector<std::size_t> most_doubtful_first(const JudgedRows& judged);

/// A table of rows with their reasons, at most `most_lines`; empty if there are none.
std::string rows_table(const JudgedRows& judged, const std::vector<std::size_t>& places,
                       std::size_t most_lines);

/// Next steps for suspect and retired rows, one command per line; empty if there are none.
std::string next_steps(const JudgedRows& judged);

/// A row and its judgement, without samples.
nlohmann::ordered_json judgement_json(const StoredRow& stored, const RowJudgement& judgement);

/// Unreadable rows and why; empty if there are none.
nlohmann::ordered_json unreadable_json(const std::vector<UnreadableRow>& rows);
std::string unreadable_text(const JudgedRows& judged);

/// Some rows of a store, judged today against all of its rows.
JudgedRows judged_rows(const ProfileStore& store, const std::vector<RowId>& ids,
                       const Today& today);

/// How many added rows are valid, suspect or retired, and why, most doubtful first.
nlohmann::ordered_json added_rows_json(const JudgedRows& added);
/// The same as text, with next steps for rows that are not valid, if this machine can take them.
std::string added_rows_text(const JudgedRows& added, bool is_of_this_machine = true);

/// The result of a check.
struct CheckedStore {
  JudgedRows judged;
  SpotCheck spot;  // rows measured again
};

/// Judges rows today; with `record`, retires faulty rows in the store. Throws InputError for a
/// damaged file, with the number of readable rows.
CheckedStore plain_check(const std::string& path, bool record);

/// Also measures suspect rows again, for at most `budget_s`.
CheckedStore measured_check(const std::string& path, double budget_s);

nlohmann::ordered_json recovery_json(const Recovery& recovery);
std::string recovery_text(const Recovery& recovery);

/// Layer times from rows, as files of profiles have them. A snapshot stays fixed while the store
/// changes, so that sweeps can be repeated. `at` is its time, UTC.
nlohmann::ordered_json snapshot_json(const JudgedRows& judged, const Profile& profile,
                                     const std::string& at);

}  // namespace penstock
