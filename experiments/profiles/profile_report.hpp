#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/profiles/profile_rows.hpp"
#include "validate/store/spot_check.hpp"

namespace penstock {

/// The rows of a store by kernel and by environment.
nlohmann::ordered_json profile_list_json(const JudgedRows& judged);
std::string profile_list_text(const JudgedRows& judged);

/// All of one row, which is among those judged.
nlohmann::ordered_json profile_row_json(const JudgedRows& judged, RowId id,
                                        const std::vector<RowVerdict>& verdicts);
std::string profile_row_text(const JudgedRows& judged, RowId id,
                             const std::vector<RowVerdict>& verdicts);

/// Whether every row can be read, and is valid or past.
bool all_valid(const JudgedRows& judged);

/// All rows, most doubtful first, with reasons; what was measured again, if anything.
nlohmann::ordered_json profile_check_json(const JudgedRows& judged, const SpotCheck* measured);
std::string profile_check_text(const JudgedRows& judged, const SpotCheck* measured);

}  // namespace penstock
