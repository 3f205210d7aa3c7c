#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/input/profiles/profile_rows.hpp"
#include "validate/store/spot_check.hpp"
#include "validate/store/store_file.hpp"

namespace penstock {

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

/// Layer times from rows, as in profile.schema.json. A snapshot stays fixed while the store
/// changes, so that sweeps can be repeated. `at` is its time, UTC.
nlohmann::ordered_json snapshot_json(const JudgedRows& judged, const Profile& profile,
                                     const std::string& at);

}  // namespace penstock
