#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/partitioners/simulation/stage_times.hpp"

namespace penstock {

/// The step time of 1F1B with one stage per rank, without a plan: the same as the engine's, at a
/// fraction of its time. Only a filter; the engine judges.
class OneFOneBTimes {
 public:
  /// The times must outlive it.
  OneFOneBTimes(const StageTimes& times, std::uint32_t stages, std::uint32_t microbatches);

  Time operator()(std::span<const std::uint32_t> cuts);

 private:
  struct Step {
    std::uint32_t stage;
    std::uint32_t microbatch;
    bool backward;
  };
  struct Stage {
    std::int64_t forward, backward;   // picoseconds
    std::int64_t transfer;            // of the boundary behind it
    std::int64_t free;                // when its rank is free
    std::int64_t forward_link_free;   // to the next stage
    std::int64_t backward_link_free;  // to the previous stage
  };
  void forward(const Step& step);
  void backward(const Step& step);
  std::int64_t& arrival(const Step& step) {
    return arrivals_[step.stage * microbatches_ + step.microbatch];
  }

  const StageTimes& times_;
  std::uint32_t stages_;
  std::uint32_t microbatches_;
  std::vector<Step> steps_;  // each after what it needs
  std::vector<Stage> state_;
  // By stage and microbatch: of the activation, then, once that is read, of the gradient.
  std::vector<std::int64_t> arrivals_;
};

}  // namespace penstock
