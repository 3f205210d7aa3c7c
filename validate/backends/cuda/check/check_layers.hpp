#pragma once

#include <vector>

#include "validate/backends/cuda/stages/gpu_stages.hpp"

namespace penstock {

/// How far a pass on the GPU is from the same pass on the host: the worst of all 64 neighbouring
/// numbers, differences over numbers, both as roots of mean squares.
struct LayerError {
  const char* pass;  // "forward", "backward_input", "backward_weight"
  double error;
};

/// Kernels after one another differ by a rounding to bf16 here and there, by the order of sums. A
/// wrong number among 64 would show with a tenth or so.
constexpr double most_layer_error = 0.03;

/// Runs each pass of a layer on both, from the same numbers. Throws GpuError.
std::vector<LayerError> layer_errors(const GpuDevice& device, const GpuLayerKind& kind,
                                     const GpuLayerSizes& sizes);

}  // namespace penstock
