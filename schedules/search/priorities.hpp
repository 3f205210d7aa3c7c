#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedules/search/draws.hpp"
#include "schedules/search/list_scheduling.hpp"
#include "schedules/search/order_problem.hpp"

namespace penstock {

/// Where W's come in the keys of a list.
enum class WeightKeys : std::uint8_t { last, behind_input, newest_first };

/// Priorities for a list scheduler from few numbers: the passes of one microbatch at offsets along
/// its way through the stages and back, repeated for each microbatch. With a memory cap the offsets
/// decide which pattern the steady state settles to.
struct PriorityPattern {
  std::vector<SearchTime> slack;      // behind each pass of the way, F's first; negative: earlier
  std::vector<std::uint32_t> warmup;  // by stage: so many F's come first
  std::uint32_t group = 1;            // microbatches that follow each other chunk by chunk
  WeightKeys weights = WeightKeys::last;
  ListRule rule;
};

/// Makes patterns and neighbours of patterns for a problem.
class PriorityPatterns {
 public:
  explicit PriorityPatterns(const OrderProblem& problem);

  /// How many systematic patterns there are; `make` takes numbers from 0 to that, and draws what
  /// they leave open.
  std::uint64_t count() const { return count_; }
  PriorityPattern make(std::uint64_t number, Draws& draws) const;
  /// Draws how many microbatches follow each other.
  void draw_group(PriorityPattern& pattern, Draws& draws) const;
  /// Ranks begin with as many F's of their first stage as they have room for, or somewhat fewer,
  /// and fewer still towards the last rank.
  void draw_warmup(PriorityPattern& pattern, Draws& draws) const;
  PriorityPattern neighbour(const PriorityPattern& pattern, Draws& draws) const;

  /// Writes the keys of a pattern, by cell.
  void write_keys(const PriorityPattern& pattern, std::vector<SearchTime>& keys) const;

 private:
  struct Offsets {
    std::vector<SearchTime> forward, input;
  };
  Offsets offsets(const PriorityPattern& pattern) const;
  void separate_chunks(PriorityPattern& pattern) const;

  const OrderProblem& problem_;
  std::vector<std::vector<std::uint32_t>> stages_;
  SearchTime unit_ = 1;    // a mean F
  SearchTime period_ = 1;  // work of the busiest rank for one microbatch
  std::uint32_t segments_ = 0;
  std::uint64_t count_ = 0;
};

/// Keys that repeat given sequences: the starts of their passes. With `weights_last`, W's only fill
/// gaps.
std::vector<SearchTime> keys_of_starts(const std::vector<SearchTime>& starts,
                                       const OrderProblem& problem, bool weights_last);

/// Searches patterns of priorities: systematic ones first, then neighbours of the best few. A
/// pattern means the same for any number of microbatches, so most of the search can run on few.
class PatternSearch {
 public:
  /// Called with the finished list schedule, or with nullptr where there is none; returns whether
  /// to go on.
  using OnTried = std::function<bool(const ListScheduler* finished)>;

  PatternSearch(const OrderProblem& problem, Draws& draws, OnTried on_tried);

  void try_systematic();
  void try_neighbours();
  void try_each(const std::vector<PriorityPattern>& patterns);
  /// The best patterns found so far.
  std::vector<PriorityPattern> best() const;

 private:
  /// A pattern with the makespan of its list schedule.
  struct Tried {
    PriorityPattern pattern;
    SearchTime makespan = never;
    double sum = 0;
    bool operator<(const Tried& other) const {
      return makespan != other.makespan ? makespan < other.makespan : sum < other.sum;
    }
  };
  void try_rules(PriorityPattern pattern);
  bool run(Tried& tried, SearchTime limit);
  void keep_best(std::size_t count);

  Draws& draws_;
  OnTried on_tried_;
  bool open_ = true;
  ListScheduler scheduler_;
  PriorityPatterns patterns_;
  std::vector<Tried> tried_;
  std::vector<SearchTime> keys_;
};

}  // namespace penstock
