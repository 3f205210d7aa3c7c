#pragma once

#include <optional>
#include <span>
#include <vector>

#include "experiments/measure/calibration/calibration_cases.hpp"
#include "sim/plan/plan.hpp"
#include "validate/calibration/kernel_model.hpp"
#include "validate/calibration/pipeline_run.hpp"

namespace penstock {

/// The plan of a case. Nothing if the schedule does not support the sizes.
std::optional<Plan> plan_of(const PipelineCase& of);

/// The passes of the layers that pipelines run, each once.
std::vector<SweepPoint> layer_passes_of(const std::vector<PipelineCase>& cases);

/// Durations of kernels in isolation.
struct IsolatedTimes {
  const std::vector<KernelCalibration>& models;  // of "busy", "mlp" and "head"
  std::span<const SweptPoint> measured = {};     // passes of layers; these go before the models
};

/// A case ready to run, with isolated durations of its actions. Nothing if there is no plan.
std::optional<Pipeline> pipeline_of(const PipelineCase& of, const IsolatedTimes& kernels);

}  // namespace penstock
