#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/profiles/profile_rows.hpp"

namespace penstock {

/// Some rows of a store, judged today among all of its rows.
JudgedRows judged_rows(const ProfileStore& store, const std::vector<RowId>& ids,
                       const Today& today);

/// How many of the rows that were added to a store are valid, suspect or retired; which are not
/// valid, most doubtful first, and why.
nlohmann::ordered_json added_rows_json(const JudgedRows& added);
/// The same as text, with what to do next about rows that are not valid.
std::string added_rows_text(const JudgedRows& added);

}  // namespace penstock
