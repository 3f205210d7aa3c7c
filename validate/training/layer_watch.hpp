#pragma once

#include "validate/job/layer_times.hpp"
#include "validate/machine/clock.hpp"

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

}  // namespace penstock
