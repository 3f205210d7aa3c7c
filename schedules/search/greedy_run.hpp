#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// A run of an order that is decided pass by pass: the rank that can start first does, and decides
/// again. What a rank runs next, those who derive from it choose. Allocates once.
///
/// Backwards, sequences are found in reverse, and starts are times before the end.
class GreedyRun {
 public:
  /// Of the last run, if it finished.
  SearchTime makespan() const { return makespan_; }
  /// Sum of the starts of all I's: of two equal makespans, the smaller sum leaves more room.
  double sum_of_starts() const { return sum_of_starts_; }
  const std::vector<SearchTime>& starts() const { return start_; }
  const RankSequences& sequences() const { return sequence_; }

 protected:
  /// A pass of a stage, whichever way time runs.
  struct Work {
    std::uint32_t rank = 0;
    SearchTime duration = 0;
    StageTail tail = {};  // behind the last one
    std::int64_t during = 0, change = 0;
    CellClass behind = no_class;  // on its rank, of the same microbatch
    PassLinks links;
  };
  /// What a rank runs next; if that is from a given sequence, its place there, and the place in
  /// front of it, of those not run yet.
  struct Next {
    SearchTime start = never;
    CellClass cell = 0;
    std::uint32_t place = 0, before = 0;
  };

  GreedyRun(const OrderProblem& problem, TimeDirection direction);

  /// Runs everything. `choose(rank, ran)` sets `next_` of a rank as far as it is known; `ran` is
  /// what the rank has just started, or null. False for a deadlock, and as soon as the makespan
  /// would exceed `limit`.
  template <class Choose>
  bool run_all(SearchTime limit, Choose choose) {
    begin();
    for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) choose(rank, nullptr);
    for (std::size_t left = problem_.cells(); left > 0; --left) {
      const std::uint32_t rank = earliest_rank();
      const Next next = next_[rank];
      if (next.start == never) return false;
      const std::uint32_t waiting = start(rank, next);
      if (waiting != rank) choose(waiting, nullptr);
      choose(rank, &next);
      if (makespan_ > limit) return false;
    }
    for (const SearchTime end : free_) sum_of_starts_ += static_cast<double>(end);
    return true;
  }
  std::size_t number(CellClass cell, std::uint32_t microbatch) const {
    return std::size_t{cell} * microbatches_ + microbatch;
  }

  const OrderProblem& problem_;
  std::uint32_t microbatches_;
  bool has_tail_;
  std::vector<Work> work_;                          // by class
  std::vector<std::vector<std::uint32_t>> stages_;  // by rank
  std::vector<SearchTime> free_, link_;
  std::vector<std::int64_t> held_;
  std::vector<Next> next_;
  std::vector<std::uint32_t> done_;          // by class
  std::vector<SearchTime> arrival_, start_;  // by cell; what has no source has always arrived

 private:
  void begin();
  std::uint32_t earliest_rank() const;
  std::uint32_t start(std::uint32_t rank, const Next& next);

  std::vector<SearchTime> all_work_, left_;  // by rank
  RankSequences sequence_;
  SearchTime makespan_ = 0;
  double sum_of_starts_ = 0;
};

}  // namespace penstock
