#pragma once

#include <cstdint>
#include <vector>

#include "schedules/partitioners/simulation/cut_judge.hpp"

namespace penstock {

/// The number of cuts into exactly `stages` stages: C(size - 1, stages - 1), at most `most`.
std::uint64_t cuts_to_try(std::uint32_t size, std::uint32_t stages, std::uint64_t most);

/// Moves boundaries of the best cuts found so far, near and far, while that helps; then from cuts
/// changed by chance, until `evaluations` cuts are judged. Leaves the best cuts in `best`.
void search_near(const StageTimes& times, std::uint64_t evaluations, std::uint64_t seed,
                 CutJudge& judge, SimulatedCuts& best);

/// Judges every cut that no bound excludes. The first of the best cuts, in the order of their
/// positions, ends in `best`, whatever it held before.
void search_all(const StageTimes& times, std::uint32_t microbatches, CutJudge& judge,
                SimulatedCuts& best);

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
