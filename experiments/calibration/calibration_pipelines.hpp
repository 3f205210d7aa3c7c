#pragma once

#include <optional>
#include <vector>

#include "experiments/calibration/calibration_cases.hpp"
#include "sim/plan/plan.hpp"
#include "validate/calibration/kernel_model.hpp"
#include "validate/calibration/pipeline_run.hpp"

namespace penstock {

/// The plan of a case. Nothing if the schedule does not support the sizes.
std::optional<Plan> plan_of(const PipelineCase& of);

/// A case ready to run. Isolated durations of its actions come from the models of the kernels
/// "busy", "mlp" and "head". Nothing if there is no plan.
std::optional<Pipeline> pipeline_of(const PipelineCase& of,
                                    const std::vector<KernelCalibration>& kernels);

}  // namespace penstock
