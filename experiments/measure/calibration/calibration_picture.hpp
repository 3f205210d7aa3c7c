#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/show/pictures/plots/calibration_plot.hpp"

namespace penstock {

/// The plot of a calibration document: held-out kernels, and pipelines by part. Depends only on the
/// document. Throws InputError with a JSON pointer for any other document.
CalibrationPlot calibration_plot(const nlohmann::ordered_json& document);

}  // namespace penstock
