#pragma once

#include <cstdint>

#include "validate/job/layer_times.hpp"

namespace penstock {

/// Divides the CPU time of a rank's actions among their layers: what an action does before a layer
/// counts for that layer, and what it does after the last for the last. The time of the clock
/// readings is subtracted.
class LayerWatch {
 public:
  LayerWatch();

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
  double lap_ns();

  double reading_ns_;  // of the clock
  std::int64_t since_ns_ = 0;
  LayerSpent* last_ = nullptr;  // of this action
  TimesOfLayers times_;
};

}  // namespace penstock
