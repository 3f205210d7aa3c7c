#pragma once

#include <optional>

#include "validate/training/layered_stage.hpp"
#include "validate/training/stage_weights.hpp"

namespace penstock {

/// A pass of a stage by itself, on drawn inputs of the right shapes; all that it needs is made
/// beforehand. Of a sliced sequence it runs the slice in the middle.
class StageTrial {
 public:
  /// What it is made from must outlive it.
  StageTrial(const LayeredModel& model, std::uint32_t model_stage, const LayerTensors& weights,
             bool selective, double rate);

  /// Makes ready for a pass; `recomputes`: it begins by making again what was kept.
  void prepare(Pass pass, bool recomputes);
  void perform();

 private:
  StageRun run();
  Tensor gradient() const;
  void remake();

  const LayeredModel& model_;
  std::uint32_t model_stage_;
  const LayerTensors& weights_;
  bool selective_;
  double rate_;
  KernelCell cell_;
  std::vector<SliceMemory> slices_;
  LayerTensors sums_;
  std::optional<StageWeights> updated_;  // for updates, which take the place of older weights

  Pass pass_ = Pass::forward;
  bool recomputes_ = false;
  Tensor in_;
  Tensor above_;
  LayerTensors kept_;
};

}  // namespace penstock
