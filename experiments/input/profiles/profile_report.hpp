#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/input/profiles/profile_rows.hpp"
#include "validate/store/spot_check.hpp"

namespace penstock {

/// The rows of a store by kernel and by environment.
nlohmann::ordered_json profile_list_json(const JudgedRows& judged);
std::string profile_list_text(const JudgedRows& judged);

/// All details of one of the judged rows.
nlohmann::ordered_json profile_row_json(const JudgedRows& judged, RowId id,
                                        const std::vector<RowVerdict>& verdicts);
std::string profile_row_text(const JudgedRows& judged, RowId id,
                             const std::vector<RowVerdict>& verdicts);

/// Whether every row is readable, and valid or past.
bool all_valid(const JudgedRows& judged);

/// All rows with reasons, most doubtful first, and the rows measured again, if any.
nlohmann::ordered_json profile_check_json(const JudgedRows& judged, const SpotCheck* measured);
std::string profile_check_text(const JudgedRows& judged, const SpotCheck* measured);

}  // namespace penstock
