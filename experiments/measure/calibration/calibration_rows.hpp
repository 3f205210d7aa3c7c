#pragma once

#include <string>
#include <vector>

#include "experiments/measure/calibration/calibration.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// The kernel measurements of a calibration as rows of a store, one per point with all samples.
/// `at` is the time in UTC: "2026-11-21T18:40:00Z".
std::vector<ProfileRow> profile_rows(const Calibration& calibration, const std::string& at);

}  // namespace penstock
