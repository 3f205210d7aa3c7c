#pragma once

#include <string>
#include <vector>

#include "experiments/calibration/calibration.hpp"
#include "validate/store/profile_row.hpp"

namespace penstock {

/// What a calibration measured of kernels by themselves, as a store keeps it: a row for each point
/// with all of its samples. `at` is when, in UTC: "2026-11-21T18:40:00Z".
std::vector<ProfileRow> profile_rows(const Calibration& calibration, const std::string& at);

}  // namespace penstock
