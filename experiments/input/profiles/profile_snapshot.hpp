#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/input/profiles/profile_rows.hpp"

namespace penstock {

/// Layer times from rows, as in profile.schema.json. A snapshot stays fixed while the store
/// changes, so that sweeps can be repeated. `at` is its time, UTC.
nlohmann::ordered_json snapshot_json(const JudgedRows& judged, const Profile& profile,
                                     const std::string& at);

}  // namespace penstock
