#pragma once

#include <cstdint>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// The passes of one microbatch through a V of two chunks per rank, as slots of a period of six: F
/// of the first chunk and I of the second go from rank to rank in `hop` slots up to `turn_rank` and
/// in `late_hop` from there, the way back takes one slot a rank, and the two turns and the start of
/// the backward wait. Repeated every period, no two passes of a rank meet.
struct BuildingBlock {
  std::uint32_t hop = 1, late_hop = 1;
  std::uint32_t turn_rank = 0;
  std::uint32_t first_wait = 0, middle_wait = 0, last_wait = 0;
  double fullness = 0;  // memory of the repetition, as a share of the capacity, mean of all ranks
};

/// The building blocks whose repetition fits the memory, the fullest first; none where the stages
/// are not a V of two chunks with split backwards.
std::vector<BuildingBlock> building_blocks(const OrderProblem& problem);

/// The repeated block: by rank, its passes in order.
RankSequences sequences_of_block(const OrderProblem& problem, const BuildingBlock& block);

/// Which way time runs: backwards, an order ends with its F's, each pass comes before what it
/// reads, and the last microbatch is the first.
enum class TimeDirection : std::uint8_t { forwards, backwards };

/// How gaps are filled.
struct FillRule {
  double fill = 0.5;  // a later pass fills a gap of at least this share of its duration
  /// Where a rank's tail begins: behind all its F's, or behind those of its first stage.
  bool early_tail = false;
};

/// Runs given sequences without idle time that they could use: where the next pass of a rank is not
/// ready, or does not fit, the first later one that is ready runs, as long as those that it
/// overtakes still fit the memory. In the tail of a rank F's come first, and W's only fill gaps or
/// make room for an F. Sequences that need too much memory are thus brought within it, where that
/// leads to no deadlock. Allocates
/// once.
///
/// Backwards, sequences are given and found in reverse, and starts are times before the end.
class GapFiller {
 public:
  explicit GapFiller(const OrderProblem& problem,
                     TimeDirection direction = TimeDirection::forwards);

  /// False for a deadlock, and as soon as the makespan would exceed `limit`.
  bool run(const RankSequences& sequences, const FillRule& rule, SearchTime limit = never);

  /// Of the last run, if it returned true.
  SearchTime makespan() const { return makespan_; }
  double sum_of_starts() const { return sum_of_starts_; }
  const std::vector<SearchTime>& starts() const { return start_; }
  const RankSequences& sequences() const { return sequence_; }

 private:
  /// What a rank runs next: a place of its given sequence.
  struct Next {
    SearchTime start = never;
    std::uint32_t place = 0;
    std::uint32_t before = 0;  // the place in front of it, of those not run yet
  };
  struct Scan;
  /// A pass of a stage, whichever way time runs.
  struct Work {
    std::uint32_t rank = 0;
    SearchTime duration = 0;
    StageTail tail = {};  // behind the last one
    std::int64_t during = 0, change = 0;
    CellClass behind = no_class;  // on its rank, of the same microbatch
    CellClass source = no_class;  // what it reads, and the time from the end of that
    SearchTime transfer = 0;
    CellClass reader = no_class;
  };
  static constexpr CellClass no_class = UINT32_MAX;

  void add_works(TimeDirection direction);
  void connect(CellClass from, CellClass to, SearchTime transfer);

  void begin(const RankSequences& sequences);
  SearchTime ready(CellClass cell) const;
  bool fits(std::uint32_t rank, CellClass cell, std::int64_t highest) const;
  bool in_tail(std::uint32_t rank) const;
  bool fills_gap(SearchTime gap, CellClass cell) const;
  void look_at(std::uint32_t rank, std::uint32_t place, std::uint32_t before, Scan& scan);
  void choose(std::uint32_t rank);
  std::uint32_t earliest_rank() const;
  SearchTime start(std::uint32_t rank);
  void arrive(CellClass cell, std::uint32_t microbatch, SearchTime time, std::uint32_t from);

  const OrderProblem& problem_;
  std::uint32_t microbatches_;
  bool has_tail_;
  std::vector<Work> work_;  // by class
  std::vector<SearchTime> all_work_;
  std::vector<std::vector<std::uint32_t>> stages_;  // by rank

  const RankSequences* given_ = nullptr;
  FillRule rule_;
  std::vector<std::vector<std::uint32_t>> follows_;  // by rank: the next place; last: the first one
  std::vector<SearchTime> free_, link_, left_;
  std::vector<std::int64_t> held_;
  std::vector<Next> next_;
  std::vector<std::uint32_t> done_;  // by class
  std::vector<std::uint64_t> seen_;  // by class: the scan that came upon it
  std::uint64_t scan_ = 0;
  std::vector<SearchTime> arrival_, start_;
  RankSequences sequence_;
  SearchTime makespan_ = 0;
  double sum_of_starts_ = 0;
};

}  // namespace penstock
