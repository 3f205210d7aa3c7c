#pragma once

#include <optional>

#include "validate/training/layered_stage.hpp"
#include "validate/training/stage_weights.hpp"
#include "validate/training/tensor_codec.hpp"

namespace penstock {

/// One pass of a stage on drawn inputs of the right shapes; everything it needs is prepared
/// beforehand. For a sliced sequence it runs the middle slice.
class StageTrial {
 public:
  /// Arguments must outlive it.
  StageTrial(const LayeredModel& model, std::uint32_t model_stage, const LayerTensors& weights,
             const JobLayers& job);

  /// Prepares a pass; `recomputes`: the pass starts with recomputation; `remade`: what F makes is
  /// dropped and made again.
  void prepare(Pass pass, bool recomputes, bool remade = false);
  void perform();

 private:
  StageRun run();
  Tensor gradient() const;
  void remake();
  void forward();

  const LayeredModel& model_;
  std::uint32_t model_stage_;
  const LayerTensors& weights_;
  const JobLayers& job_;
  KernelCell cell_;
  std::vector<SliceMemory> slices_;
  LayerTensors sums_;
  std::optional<StageWeights> updated_;  // for updates, which replace older weights

  Pass pass_ = Pass::forward;
  bool recomputes_ = false;
  bool remade_ = false;
  Tensor in_;
  Tensor above_;
  LayerTensors kept_;
  std::optional<TensorCodec> codec_;  // of the stash
  PackedStash packed_;
  void pack();
  void unpack();
};

}  // namespace penstock
