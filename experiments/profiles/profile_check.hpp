#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/profiles/profile_rows.hpp"
#include "validate/store/spot_check.hpp"
#include "validate/store/store_recovery.hpp"

namespace penstock {

/// A store after it was checked.
struct CheckedStore {
  JudgedRows judged;
  SpotCheck spot;  // what was measured again
};

/// Judges rows today; with `record`, faulty ones are retired in the store.
/// Throws InputError where the file is damaged, with how many rows can still be read.
CheckedStore plain_check(const std::string& path, bool record);

/// Also measures suspect rows again, for at most `budget_s`.
CheckedStore measured_check(const std::string& path, double budget_s);

nlohmann::ordered_json recovery_json(const Recovery& recovery);
std::string recovery_text(const Recovery& recovery);

}  // namespace penstock
