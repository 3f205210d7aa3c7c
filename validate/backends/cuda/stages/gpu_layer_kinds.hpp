#pragma once

#include <map>
#include <span>
#include <string>

#include "validate/backends/cuda/gpu_steps.hpp"
#include "validate/backends/cuda/programs/gpu_program.hpp"

namespace penstock {

/// Memory that a layer needs.
struct GpuLayerBytes {
  std::uint64_t weights = 0;
  std::uint64_t sums = 0;     // of weight gradients
  std::uint64_t kept = 0;     // of a microbatch
  std::uint64_t scratch = 0;  // of a pass; layers of a rank share it
  std::uint64_t ends = 0;     // what goes from a layer to the next, or back
};

/// Memory of a layer in a pass.
struct GpuLayerMemory {
  std::byte* weights;
  std::byte* sums;
  std::byte* kept;
  std::byte* scratch;
  LayerEnds<Bf16> ends;
};

/// A kind of layer that actions run. Its output has the size of its input.
struct GpuLayerKind {
  GpuWork work;
  GpuLayerBytes (*bytes)(const GpuLayerSizes& sizes);
  /// Initial weights, in host memory.
  void (*draw)(const GpuLayerSizes& sizes, std::byte* weights);
  /// Adds what a pass launches: forward, input_gradient or weight_gradient.
  void (*launch)(const GpuLayerSizes& sizes, const GpuLayerMemory& memory, GpuPass pass,
                 GpuLaunches& launches);
  /// Its sizes by name.
  std::map<std::string, std::uint64_t> (*numbers)(const GpuLayerSizes& sizes);
};

/// All kinds.
std::span<const GpuLayerKind> layer_kinds();
/// The kind of layer of a body, or null.
const GpuLayerKind* layer_kind_of(GpuWork work);

/// "examples=8 heads=16 …": sizes by name, in order.
std::string shape_text(const std::map<std::string, std::uint64_t>& numbers);

}  // namespace penstock
