#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedules/search/draws.hpp"
#include "schedules/search/list_scheduling.hpp"
#include "schedules/search/order_problem.hpp"
#include "schedules/search/priorities.hpp"

namespace penstock {

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
