#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "experiments/long_work/progress.hpp"
#include "experiments/reproduction/paper.hpp"

namespace penstock {

/// Counts the rows that a reproduction simulates. How many a fit needs is unknown beforehand: it
/// counts as a usual number of steps until it ends.
class RowProgress {
 public:
  explicit RowProgress(OnProgress on_progress) : on_progress_(std::move(on_progress)) {}

  /// A judgement to come.
  void expect(const Judgement& judgement, std::size_t rows);
  void begin_judgement();
  /// How many rows of the current batch are simulated; called while it is worked on.
  void of_batch(std::size_t done);
  void end_batch(std::size_t rows) { done_ += rows; }

 private:
  OnProgress on_progress_;
  std::vector<std::uint64_t> expected_;  // of the judgements to come
  std::size_t next_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t end_ = 0;  // of the current judgement
};

}  // namespace penstock
