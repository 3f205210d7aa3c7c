#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/calibration/kernel_model.hpp"
#include "validate/calibration/pipeline_run.hpp"

namespace penstock {

/// A pipeline before lowering. The work per rank does not depend on the number of chunks.
struct PipelineSetting {
  std::string family = "even";  // "even", "uneven" and "linked" keep cores busy; or "layers"
  std::uint32_t ranks = 2;
  std::uint32_t microbatches = 4;
  double size = 50;  // busy: microseconds of F, of I and of W; layers: their hidden size
  friend bool operator==(const PipelineSetting&, const PipelineSetting&) = default;
};

/// Whether it runs layers.
bool has_layers(const PipelineSetting& setting);

/// "p2 m8 60us even", "p2 m8 h48 layers".
std::string text(const PipelineSetting& setting);

/// A setting with its schedule and its part.
struct PipelineCase {
  PipelineSetting setting;
  std::string schedule = "1f1b";
  Part part = Part::training;
};

/// The pipelines of a calibration: 1F1B over a grid of settings, split by seed into training and
/// interpolation; larger ones for extrapolation; and training settings under other schedules.
/// Limited to what the backend can run: `most_ranks`, with or without layers.
std::vector<PipelineCase> pipeline_cases(std::uint64_t seed, std::uint32_t most_ranks,
                                         bool runs_layers);

/// Equal for equal splits into parts.
std::uint64_t split_hash(const std::vector<PipelineCase>& cases);

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
