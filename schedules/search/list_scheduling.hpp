#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
/// to no deadlock while all keys are eligible. Allocates once; takes time proportional to the
/// cells times the stages of a rank.
class ListScheduler {
 public:
  explicit ListScheduler(const OrderProblem& problem);

  /// `keys` by cell: class * microbatches + microbatch. False for a deadlock, and as soon as the
  /// makespan would exceed `limit`.
  bool run(std::span<const SearchTime> keys, const ListRule& rule, SearchTime limit = never);

  /// Of the last run, if it returned true.
  SearchTime makespan() const { return makespan_; }
  /// Sum of the starts of all I's: of two equal makespans, the smaller sum leaves more room.
  double sum_of_starts() const { return sum_of_starts_; }
  const std::vector<SearchTime>& starts() const { return start_; }
  const RankSequences& sequences() const { return sequence_; }

 private:
  struct Head {
    SearchTime key;
    SearchTime ready;
    CellClass cell;
  };
  struct Next {
    SearchTime start = never;
    CellClass cell = 0;
  };

  void begin();
  bool has_room(std::uint32_t rank, std::uint32_t stage) const;
  std::size_t find_heads(std::uint32_t rank, Head& weight);
  void choose(std::uint32_t rank);
  std::uint32_t earliest_rank() const;
  SearchTime start(std::uint32_t rank);
  void arrive(CellClass cell, std::uint32_t microbatch, SearchTime time, std::uint32_t from);
  SearchTime& arrival(CellClass cell, std::uint32_t microbatch) {
    return arrival_[std::size_t{cell} * microbatches_ + microbatch];
  }

  const OrderProblem& problem_;
  std::uint32_t microbatches_;
  std::vector<std::vector<std::uint32_t>> stages_;  // by rank
  std::vector<std::int64_t> whole_;                 // by rank: bytes of one microbatch
  std::vector<SearchTime> work_;

  std::span<const SearchTime> keys_;
  ListRule rule_;
  std::vector<SearchTime> free_, link_, left_;
  std::vector<std::int64_t> held_;
  std::vector<Next> next_;
  std::vector<std::uint32_t> done_;  // by class
  std::vector<SearchTime> arrival_, start_;
  std::vector<Head> heads_;
  RankSequences sequence_;
  SearchTime makespan_ = 0;
  double sum_of_starts_ = 0;
};

}  // namespace penstock
