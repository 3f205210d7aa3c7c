#pragma once

#include <cstdint>
#include <vector>

#include "schedules/search/greedy_run.hpp"
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
/// leads to no deadlock. Backwards, sequences are given in reverse, too.
class GapFiller : public GreedyRun {
 public:
  explicit GapFiller(const OrderProblem& problem,
                     TimeDirection direction = TimeDirection::forwards);

  /// False for a deadlock, and as soon as the makespan would exceed `limit`.
  bool run(const RankSequences& sequences, const FillRule& rule, SearchTime limit = never);

 private:
  struct Scan;

  SearchTime ready(CellClass cell) const;
  bool fits(std::uint32_t rank, CellClass cell, std::int64_t highest) const;
  bool in_tail(std::uint32_t rank) const;
  bool fills_gap(SearchTime gap, CellClass cell) const;
  void look_at(std::uint32_t rank, std::uint32_t place, std::uint32_t before, Scan& scan);
  void choose(std::uint32_t rank);

  const RankSequences* given_ = nullptr;
  FillRule rule_;
  std::vector<std::vector<std::uint32_t>> follows_;  // by rank: the next place; last: the first one
  std::vector<std::uint64_t> seen_;                  // by class: the scan that came upon it
  std::uint64_t scan_ = 0;
};

}  // namespace penstock
