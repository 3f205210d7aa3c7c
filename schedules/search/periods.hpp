#pragma once

#include <cstdint>
#include <vector>

#include "schedules/search/draws.hpp"
#include "schedules/search/order_problem.hpp"

namespace penstock {

/// The passes of one microbatch at times that, repeated every `length`, never meet on a rank.
struct Period {
  SearchTime length = 0;
  std::vector<SearchTime> start;  // by class
  std::int64_t overflow = 0;      // bytes that the repetition needs too many, sum of all ranks
  SearchTime way = 0;             // until the last I of the microbatch ends

  bool operator<(const Period& other) const {
    return overflow != other.overflow ? overflow < other.overflow : way < other.way;
  }
};

/// Finds periods of a given length: F's and I's of a microbatch one after the other, each at the
/// first time at which its rank is free in every repetition; W's behind them. A microbatch goes
/// from rank to rank in equal hops, which are shares of the length, and waits where it turns.
/// Unlike building blocks these take passes as long as they are, and any placement.
class PeriodFinder {
 public:
  explicit PeriodFinder(const OrderProblem& problem);

  /// The work of the busiest rank for one microbatch: no period is shorter.
  SearchTime shortest() const { return shortest_; }
  /// The best period of a length after some steps, each of which moves one pass; `start` is empty
  /// where the passes of some rank find no room. Steps end early where memory is no limit.
  Period find(SearchTime length, std::uint32_t steps, Draws& draws);

 private:
  struct Span {
    SearchTime begin, end;  // within the length
  };
  /// Once through all ranks, as F or I: how a microbatch goes there, as shares of the length.
  struct Leg {
    double hop = 0, wait = 0;
  };
  bool place(CellClass cell, SearchTime earliest);
  bool place_all();
  void draw(std::vector<Leg>& legs, Draws& draws) const;
  std::int64_t overflow(std::uint32_t rank) const;
  void add_span(std::vector<Span>& taken, SearchTime begin, SearchTime duration) const;

  const OrderProblem& problem_;
  std::vector<std::vector<std::uint32_t>> stages_;  // by rank
  SearchTime shortest_ = 1;
  std::vector<Leg> legs_;
  std::vector<std::vector<Span>> taken_;  // by rank, ascending
  Period now_;
};

/// The starts of all microbatches, by cell: one period after the other.
std::vector<SearchTime> repeated_starts(const Period& period, std::uint32_t microbatches);

}  // namespace penstock
