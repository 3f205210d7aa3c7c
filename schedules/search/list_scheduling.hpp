#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/search/greedy_run.hpp"
#include "schedules/search/order_problem.hpp"

namespace penstock {

/// How a list scheduler treats what is ready.
struct ListRule {
  /// F's and I's of a rank, one per stage and pass, that may run next: those with the lowest keys.
  /// 1 keeps to the keys strictly.
  std::uint32_t window = UINT32_MAX;
  /// A rank waits this long for a lower key.
  SearchTime wait = 0;
  /// A W with a high key fills a gap of at least this share of its duration.
  double fill = 0;
};

/// List scheduling: each rank runs, of what is ready and fits its memory, the pass with the lowest
/// key. A rank keeps room for the oldest microbatch that it has not seen through, so memory leads
/// to no deadlock while all keys are eligible. Takes time proportional to the cells times the
/// stages of a rank.
class ListScheduler : public GreedyRun {
 public:
  explicit ListScheduler(const OrderProblem& problem);

  /// `keys` by cell: class * microbatches + microbatch. False for a deadlock, and as soon as the
  /// makespan would exceed `limit`.
  bool run(std::span<const SearchTime> keys, const ListRule& rule, SearchTime limit = never);

 private:
  struct Head {
    SearchTime key;
    SearchTime ready;
    CellClass cell;
  };

  bool has_room(std::uint32_t rank, std::uint32_t stage) const;
  std::size_t find_heads(std::uint32_t rank, Head& weight);
  void choose(std::uint32_t rank);

  std::vector<std::int64_t> whole_;  // by rank: bytes of one microbatch
  std::span<const SearchTime> keys_;
  ListRule rule_;
  std::vector<Head> heads_;
};

}  // namespace penstock
