#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/profiles/profile_rows.hpp"

namespace penstock {

/// What rows say of layers, in the form of profile.schema.json: it stays what it is while the store
/// goes on, for sweeps that can be repeated. `at` is the time it is taken, UTC.
nlohmann::ordered_json snapshot_json(const JudgedRows& judged, const Profile& profile,
                                     const std::string& at);

}  // namespace penstock
