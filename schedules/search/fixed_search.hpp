#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// An order to start from.
struct OrderSeed {
  std::string name;
  RankSequences sequences;     // they may need more memory than there is
  ActivationForms forms = {};  // only what runs as a whole B
};

/// How far a search is.
struct OrderSearchState {
  std::uint64_t evaluations = 0;  // orders timed
  SearchTime best = never;
  SearchTime bound = 0;  // no order is shorter
};

struct OrderSearchOptions {
  std::uint64_t seed = 1;
  std::vector<OrderSeed> seeds = {};
  /// Shares of the budget used so far; 1 ends the search. Called after every evaluation. The result
  /// depends on the problem, the seeds and these answers alone.
  std::function<double(const OrderSearchState&)> spent;
};

struct FoundOrder {
  std::optional<RankSequences> sequences;  // none: nothing found fits the memory
  ActivationForms forms;                   // where the problem leaves the choice
  std::string origin;                      // the seed or step that it came from
  OrderSearchState state;                  // of `sequences`: its makespan
  bool proven = false;                     // no order is shorter
};

/// A finished order; the shorter, then the one that starts earlier, is the better.
struct KeptOrder {
  SearchTime makespan = never;
  double sum = 0;
  SearchedOrder order = {};
  std::string origin = {};

  bool operator<(const KeptOrder& other) const {
    return makespan != other.makespan ? makespan < other.makespan : sum < other.sum;
  }
};

/// A search's state, what it found, and the share of its budget that is spent.
class RunningSearch {
 public:
  FoundOrder result() {
    FoundOrder found{.sequences = {}, .forms = {}, .origin = {}, .state = state_, .proven = false};
    if (kept_.empty()) return found;
    found.proven = state_.best <= state_.bound;
    found.origin = std::move(kept_.front().origin);
    found.sequences = std::move(kept_.front().order.sequences);
    found.forms = std::move(kept_.front().order.forms);
    return found;
  }

 protected:
  explicit RunningSearch(const OrderSearchOptions& options) : options_(options) {}

  /// Whether there is something left to find and budget below a share.
  bool open(double share) const { return state_.best > state_.bound && spent_ < share; }
  void count() {
    ++state_.evaluations;
    if (options_.spent) spent_ = options_.spent(state_);
  }

  const OrderSearchOptions& options_;
  OrderSearchState state_;
  double spent_ = 0;
  std::vector<KeptOrder> kept_;  // the best first
};

/// Searches for a short order of a problem that leaves no choice of forms: seeds, building blocks,
/// list scheduling by patterns of priorities and their neighbours, then local search from the best
/// few. Ends early where an order reaches the bound.
FoundOrder fixed_search(const OrderProblem& problem, const OrderSearchOptions& options);

}  // namespace penstock
