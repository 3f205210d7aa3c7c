#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/reproduction/paper.hpp"

namespace penstock {

/// Counts simulated rows. The number that a fit needs is unknown in advance: until it ends, a
/// typical number of steps is assumed.
class RowProgress {
 public:
  explicit RowProgress(OnProgress on_progress) : on_progress_(std::move(on_progress)) {}

  /// Announces a judgement.
  void expect(const Judgement& judgement, std::size_t rows);
  void begin_judgement();
  /// The number of simulated rows of the current batch, so far.
  void of_batch(std::size_t done);
  void end_batch(std::size_t rows) { done_ += rows; }

 private:
  OnProgress on_progress_;
  std::vector<std::uint64_t> expected_;  // of the remaining judgements
  std::size_t next_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t end_ = 0;  // of the current judgement
};

}  // namespace penstock
