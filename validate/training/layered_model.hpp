#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/kernels/registry.hpp"

namespace penstock {

/// How a layer takes part in the sum that goes around it.
enum class Residual : std::uint8_t {
  none,
  begins,  // hands on what came in too, below what it makes of it
  ends,    // adds the lower half of what comes in to what it makes of the upper one
  around,  // adds what came in to what it makes of it
};

/// A layer where it stands in its model.
struct PlacedLayer {
  const KernelEntry* kernel;
  LayerNumbers numbers;
  std::uint32_t number;  // in the model, whichever stages it is cut into
  Residual residual;

  std::size_t rows_in() const;  // with what goes around it
  std::size_t rows_out() const;
};

/// The layers of a job, ready to be run.
struct LayeredModel {
  std::vector<std::vector<PlacedLayer>> stages;  // by model stage; the last one ends in a loss
  KernelCell cell;                               // the first slice of microbatch 0

  std::uint32_t layers() const { return stages.back().back().number + 1; }
};

/// Why layers are not run; nothing when they are. Layers must be such as a cost model has priced:
/// throws InputError otherwise.
std::optional<std::string> why_not_layers(const JobLayers& layers);

/// Throws UsageError with the reason where layers are not run.
LayeredModel layered_model(const JobLayers& layers);

/// A slice of a microbatch.
KernelCell cell_of(const LayeredModel& model, Microbatch microbatch);
/// What a model reads for a cell, drawn.
Tensor model_input(const LayeredModel& model, const KernelCell& cell);
/// What a model stage might read for a cell: what the model reads, or drawn numbers.
Tensor stage_input(const LayeredModel& model, std::uint32_t model_stage, const KernelCell& cell);
/// How many numbers go into a model stage for a cell.
std::size_t stage_numbers(const LayeredModel& model, std::uint32_t model_stage);

}  // namespace penstock
