#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// How far a stage is.
struct StageProgress {
  std::uint32_t forwards = 0, gradients = 0;  // I's and B's
  std::uint32_t pending = 0;                  // I's whose W is to come
};

/// How far a rank is.
struct RankProgress {
  SearchTime free = 0;
  std::int64_t held = 0;
  SearchTime reduced = 0, ended = 0;  // its finished stages, with all their tails
};

/// The last step of an order: none that follows starts earlier, or on an earlier rank at the same
/// time.
struct LastStep {
  SearchTime start = 0;
  std::uint32_t rank = 0;
  bool lasts = false;
};

/// The beginning of an order, timed: what branch and bound has decided so far.
struct PartialOrder {
  explicit PartialOrder(const OrderProblem& problem)
      : stages(problem.stage_count()),
        ranks(problem.ranks()),
        forward_end(problem.stages.size() * problem.microbatches, 0),
        gradient_end(forward_end) {}

  std::vector<StageProgress> stages;
  std::vector<RankProgress> ranks;
  std::vector<SearchTime> forward_end, gradient_end;  // by stage * microbatches + microbatch
  SearchTime sum_of_starts = 0;
  LastStep last;

  /// No pass to come starts earlier on a rank.
  SearchTime floor(std::uint32_t rank) const {
    const SearchTime after = last.lasts && rank < last.rank ? last.start + 1 : last.start;
    return after > ranks[rank].free ? after : ranks[rank].free;
  }
};

/// Beginnings of orders that branch and bound has been at, by what they have run. One of them makes
/// another that runs the same needless if everything to come can start at least as early after it.
///
/// That excludes no way to the optimum: of the shortest orders, take those with the smallest sum of
/// all starts, and of these the one that the search comes upon first. Were its beginning needless,
/// the earlier one, continued in the same way, would be an order of this kind that comes first.
class SeenOrders {
 public:
  explicit SeenOrders(const OrderProblem& problem) : problem_(problem) {}

  /// Whether the beginning is needless; keeps it otherwise.
  bool covers(const PartialOrder& order);

 private:
  void describe(const PartialOrder& order);

  const OrderProblem& problem_;
  std::unordered_map<std::string, std::vector<std::vector<SearchTime>>> seen_;
  std::size_t count_ = 0;
  std::string key_;
  std::vector<SearchTime> times_;  // the smaller, the better
};

/// A makespan that no order with a given beginning is below. For each rank: the shortest way to run
/// what it has left, if each pass could be interrupted, starts no earlier than its inputs can
/// arrive, and is followed by the shortest way to the end of the step. Memory is not looked at.
class NodeBound {
 public:
  explicit NodeBound(const OrderProblem& problem);

  SearchTime of(const PartialOrder& order);

 private:
  /// A pass to come: when it can start at the earliest, and what must follow it.
  struct Job {
    SearchTime head, duration, tail;
  };

  void find_tails();
  void add_forwards(const PartialOrder& order);
  void add_backwards(const PartialOrder& order);
  SearchTime bound_of(std::vector<Job>& jobs);
  std::size_t number(std::uint32_t stage, std::uint32_t microbatch) const {
    return std::size_t{stage} * least_.microbatches + microbatch;
  }

  OrderProblem least_;                                    // the least times of all forms
  std::vector<SearchTime> weights_;                       // by stage: W where the backward is split
  std::vector<SearchTime> forward_tail_, gradient_tail_;  // by stage and microbatch
  std::vector<SearchTime> forward_head_, gradient_head_;  // ends of passes to come
  std::vector<std::vector<Job>> jobs_;                    // by rank
  std::vector<std::pair<SearchTime, SearchTime>> ready_;  // tail, remaining duration
};

}  // namespace penstock
