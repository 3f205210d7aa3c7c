#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/profiles/profile_rows.hpp"
#include "validate/store/spot_check.hpp"

namespace penstock {

/// What a store has, by kernel and by environment.
nlohmann::ordered_json profile_list_json(const JudgedRows& judged);
std::string profile_list_text(const JudgedRows& judged);

/// All of one row, which is among those judged.
nlohmann::ordered_json profile_row_json(const JudgedRows& judged, RowId id,
                                        const std::vector<RowVerdict>& verdicts);
std::string profile_row_text(const JudgedRows& judged, RowId id,
                             const std::vector<RowVerdict>& verdicts);

/// Whether every row that is not past is valid, and can be read.
bool all_valid(const JudgedRows& judged);

/// What is not valid, and why; what was measured again, where something was.
nlohmann::ordered_json profile_check_json(const JudgedRows& judged, const SpotCheck* measured);
std::string profile_check_text(const JudgedRows& judged, const SpotCheck* measured);

}  // namespace penstock
