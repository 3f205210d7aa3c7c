#include "experiments/measure/calibration/calibration_rows.hpp"

#include "validate/store/stored_row.hpp"

namespace penstock {

std::vector<ProfileRow> profile_rows(const Calibration& calibration, const std::string& at) {
  std::vector<ProfileRow> rows;
  for (const auto* points :
       {&calibration.swept.points, &calibration.layers, &calibration.in_run.points}) {
    for (const SweptPoint& point : *points) {
      rows.push_back({.point = point.point.kernel,
                      .build = std::string(kernels_build()),
                      .environment = calibration.environment,
                      .canary_ns = calibration.canary.median,
                      .samples_ns = point.samples_ns,
                      .measured_at = at});
    }
  }
  return rows;
}

}  // namespace penstock
