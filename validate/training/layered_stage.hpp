#pragma once

#include <vector>

#include "validate/training/layered_model.hpp"

namespace penstock {

/// By layer of a stage: its weights, sums of their gradients, or what it keeps.
using LayerTensors = std::vector<Tensors>;

/// A stage as a pass runs it for a cell. Layers run one after the other; what each keeps is apart.
struct StageRun {
  const std::vector<PlacedLayer>& layers;
  const LayerTensors& weights;
  KernelCell cell;
  std::vector<SliceMemory>& slices;  // by layer, of the cell's microbatch
};

/// F: returns what goes on.
Tensor stage_forward(const StageRun& run, Tensor in, LayerTensors& kept);
/// I: returns the gradient of what came in, empty where that were the numbers of tokens.
Tensor stage_input_gradient(const StageRun& run, Tensor gradient, LayerTensors& kept);
/// W, after I.
void stage_weight_gradient(const StageRun& run, const LayerTensors& kept, LayerTensors& sums);

/// What selective recomputation drops behind F, and makes again.
void drop_selected(const std::vector<PlacedLayer>& layers, LayerTensors& kept);
void make_selected(const StageRun& run, LayerTensors& kept);

/// The weights that a stage begins with, and sums of their gradients that are 0.
LayerTensors initial_weights(const std::vector<PlacedLayer>& layers, std::uint64_t seed);
LayerTensors zeros_like(const LayerTensors& weights);
/// A step down the gradient: weights - rate * gradients.
LayerTensors stepped(const LayerTensors& weights, const LayerTensors& gradients, double rate);
/// Adds numbers to those of the same shape.
void add(const LayerTensors& numbers, LayerTensors& sums);

}  // namespace penstock
