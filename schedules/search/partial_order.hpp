#pragma once

#include <cstdint>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// How far a stage is.
struct StageProgress {
  std::uint32_t forwards = 0, gradients = 0;  // I's and B's
  std::uint32_t pending = 0;                  // I's whose W is to come
};

/// The beginning of an order, timed: what branch and bound has decided so far.
struct PartialOrder {
  explicit PartialOrder(const OrderProblem& problem)
      : stages(problem.stage_count()),
        free(problem.ranks(), 0),
        held(problem.ranks(), 0),
        forward_end(problem.stages.size() * problem.microbatches, 0),
        gradient_end(forward_end) {}

  std::vector<StageProgress> stages;
  std::vector<SearchTime> free;  // by rank
  std::vector<std::int64_t> held;
  std::vector<SearchTime> forward_end, gradient_end;  // by stage * microbatches + microbatch
  SearchTime sum_of_starts = 0;

  // The last step: none that follows starts earlier, or on an earlier rank at the same time.
  SearchTime start = 0;
  std::uint32_t rank = 0;
  bool lasts = false;

  /// No pass to come starts earlier on a rank.
  SearchTime floor(std::uint32_t of_rank) const {
    const SearchTime after = lasts && of_rank < rank ? start + 1 : start;
    return after > free[of_rank] ? after : free[of_rank];
  }
};

}  // namespace penstock
