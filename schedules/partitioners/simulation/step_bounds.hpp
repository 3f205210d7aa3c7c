#pragma once

#include <cstdint>
#include <vector>

#include "schedules/partitioners/simulation/stage_times.hpp"

namespace penstock {

/// Lower bounds of the step time of 1F1B with one stage per rank, in picoseconds, for cuts that are
/// known from the front. No bound exceeds the step time of any cut that begins so.
class StepBounds {
 public:
  /// The times must outlive it.
  StepBounds(const StageTimes& times, std::uint32_t stages, std::uint32_t microbatches);

  /// A stage [begin, end); `sent` is what both tensors of the boundaries before it take.
  struct Known {
    std::uint32_t stage;
    std::uint32_t begin;
    std::uint32_t end;
    double sent;
  };
  /// The rank's own work between the first microbatch that comes and the last gradient that goes.
  /// Grows with the end of the stage.
  double of_rank(const Known& known) const;
  /// The same for the later ranks, whatever their cuts.
  double of_rest(const Known& known) const;
  /// The whole way of one microbatch, and the work around its turn on this rank and the link
  /// behind.
  double of_path(const Known& known) const;
  /// Both tensors of the boundary at a position.
  double sent_at(std::uint32_t position) const;

 private:
  double work(std::uint32_t begin, std::uint32_t end) const { return work_[end] - work_[begin]; }
  void find_shortest_rests();

  const StageTimes& times_;
  std::uint32_t stages_;
  double microbatches_;
  double slack_;              // what rounding may take off
  std::vector<double> work_;  // forward and backward before a position
  // By stages that follow, then position: their least bottleneck from there to the end.
  std::vector<std::vector<double>> rest_;
  std::vector<double> cheapest_;  // by position: of sent_at behind it
};

}  // namespace penstock
