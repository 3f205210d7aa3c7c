#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/input/profiles/profile_rows.hpp"

namespace penstock {

/// Some rows of a store, judged today against all of its rows.
JudgedRows judged_rows(const ProfileStore& store, const std::vector<RowId>& ids,
                       const Today& today);

/// How many added rows are valid, suspect or retired, and why, most doubtful first.
nlohmann::ordered_json added_rows_json(const JudgedRows& added);
/// The same as text, with next steps for rows that are not valid, if this machine can take them.
std::string added_rows_text(const JudgedRows& added, bool is_of_this_machine = true);

}  // namespace penstock
