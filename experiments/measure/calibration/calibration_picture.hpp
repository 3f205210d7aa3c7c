#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/show/pictures/plots/calibration_plot.hpp"

namespace penstock {

/// The plot of a calibration document: held-out kernels, and pipelines by part. Depends only on the
/// document. Throws InputError with a JSON pointer for any other document.
CalibrationPlot calibration_plot(const nlohmann::json& document);

/// Simulated over published values of one paper or several, as `penstock reproduce --json` prints
/// them: a panel for each table, a series for each judgement, with the rows that it judges. Rows
/// that constants were fitted to, and values of 0, are left out. Throws InputError with a JSON
/// pointer for any other document.
CalibrationPlot published_plot(const nlohmann::json& document);

}  // namespace penstock
