#pragma once

#include <optional>
#include <vector>

#include "experiments/calibration/calibration_cases.hpp"
#include "sim/plan/plan.hpp"
#include "validate/calibration/kernel_model.hpp"
#include "validate/calibration/pipeline_run.hpp"

namespace penstock {

/// The plan of a case. Nothing where the schedule does not allow the sizes.
std::optional<Plan> plan_of(const PipelineCase& of);

/// A case ready to run; what its actions take alone is what the models of these kernels say, of
/// "busy", "mlp" and "head". Nothing where there is no plan.
std::optional<Pipeline> pipeline_of(const PipelineCase& of,
                                    const std::vector<KernelCalibration>& kernels);

}  // namespace penstock
