#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schedules/search/order_problem.hpp"
#include "schedules/search/partial_order.hpp"

namespace penstock {

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
