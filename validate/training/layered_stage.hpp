#pragma once

#include <vector>

#include "validate/job/trained_numbers.hpp"
#include "validate/machine/clock.hpp"
#include "validate/training/layered_model.hpp"

namespace penstock {

/// Divides the CPU time of a rank's actions among their layers: what an action does before a layer
/// counts for that layer, and what it does after the last for the last. The time of the clock
/// readings does not count.
class LayerWatch {
 public:
  /// Before each run.
  void clear() { times_.clear(); }
  /// An action starts.
  void start();
  /// A layer of the action has ended.
  void lap(const LayerPass& layer);
  /// The action has ended.
  void finish();

  const TimesOfLayers& times() const { return times_; }

 private:
  WorkClock clock_;
  LayerSpent* last_ = nullptr;  // of this action
  TimesOfLayers times_;
};

/// By layer of a stage: its weights, gradient sums, or what it keeps.
using LayerTensors = std::vector<Tensors>;

/// A stage in a pass for a cell. Layers run in order and keep their tensors separately.
struct StageRun {
  const std::vector<PlacedLayer>& layers;
  const LayerTensors& weights;
  KernelCell cell;
  std::vector<SliceMemory>& slices;  // by layer, of the cell's microbatch
  LayerWatch* watch = nullptr;       // measures the layers, if anything does
};

/// The gradient of a loss itself, from which a backward starts.
Tensor loss_gradient();

/// F: returns the output.
Tensor stage_forward(const StageRun& run, Tensor in, LayerTensors& kept);
/// I: returns the input gradient, empty for token ids.
Tensor stage_input_gradient(const StageRun& run, Tensor gradient, LayerTensors& kept);
/// W, after I.
void stage_weight_gradient(const StageRun& run, const LayerTensors& kept, LayerTensors& sums);

/// What selective recomputation drops after F.
void drop_selected(const std::vector<PlacedLayer>& layers, LayerTensors& kept);
void recompute_selected(const StageRun& run, LayerTensors& kept);

/// The initial weights of a stage, and zeroed gradient sums.
LayerTensors initial_weights(const std::vector<PlacedLayer>& layers, std::uint64_t seed);
LayerTensors zeros_like(const LayerTensors& weights);
/// The number of values in all tensors.
std::size_t numbers_of(const LayerTensors& tensors);
/// Calls `visit(value, its counterpart)` for tensors of the same shapes.
template <class Visitor>
void for_each_value(const LayerTensors& values, LayerTensors& others, Visitor visit) {
  for (std::size_t layer = 0; layer < others.size(); ++layer) {
    for (std::size_t part = 0; part < others[layer].size(); ++part) {
      const std::vector<double>& from = values[layer][part].values;
      std::vector<double>& to = others[layer][part].values;
      for (std::size_t i = 0; i < to.size(); ++i) visit(from[i], to[i]);
    }
  }
}
/// A gradient step: weights - rate * gradients.
LayerTensors stepped(const LayerTensors& weights, const LayerTensors& gradients, double rate);
/// Adds values of the same shapes.
void add(const LayerTensors& numbers, LayerTensors& sums);

}  // namespace penstock
