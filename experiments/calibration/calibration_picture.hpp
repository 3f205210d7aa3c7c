#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/pictures/calibration_plot.hpp"

namespace penstock {

/// What the document of a calibration shows: kernels that constants were not fitted to, and
/// pipelines by what they were for. The picture follows from the document alone. Throws InputError
/// with a JSON pointer for any other document.
CalibrationPlot calibration_plot(const nlohmann::ordered_json& document);

}  // namespace penstock
