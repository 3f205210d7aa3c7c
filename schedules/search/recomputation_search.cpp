#include "schedules/search/recomputation_search.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedules/search/bounds.hpp"
#include "schedules/search/draws.hpp"
#include "schedules/search/local_search.hpp"
#include "schedules/search/recomputation_choice.hpp"
#include "schedules/search/sequences.hpp"

namespace penstock {
namespace {

/// The shares of the budget at which each step ends.
constexpr double nothing_end = 0.2;
constexpr double all_end = 0.4;
constexpr double roomy_end = 0.55;

constexpr std::size_t most_candidates = 4;

/// A finished order among the best.
struct Candidate {
  SearchTime makespan = never;
  double sum = 0;
  SearchedOrder order;
  std::string origin;

  bool operator<(const Candidate& other) const {
    return makespan != other.makespan ? makespan < other.makespan : sum < other.sum;
  }
};

class ChoiceSearch {
 public:
  ChoiceSearch(const OrderProblem& problem, const OrderSearchOptions& options)
      : problem_(problem),
        options_(options),
        draws_(options.seed),
        times_(problem),
        local_(problem),
        all_(all_recomputed(problem)) {
    state_.bound = shortest_possible(with_least_of_both(problem));
  }

  void run() {
    for (const OrderSeed& seed : options_.seeds) try_order(seed.sequences, seed.name);
    OrderProblem roomy = with_nothing_recomputed(problem_);
    search(roomy, nothing_end);
    search(with_all_recomputed(problem_), all_end);
    std::fill(roomy.capacity.begin(), roomy.capacity.end(), never);
    search(roomy, roomy_end);
    improve();
  }
  FoundOrder result();

 private:
  bool open(double share) const { return state_.best > state_.bound && spent_ < share; }
  void count() {
    ++state_.evaluations;
    if (options_.spent) spent_ = options_.spent(state_);
  }
  void search(const OrderProblem& fixed, double end);
  void try_order(const RankSequences& sequences, const std::string& origin);
  void keep(SearchedOrder order, const std::string& origin);
  void improve();

  const OrderProblem& problem_;
  const OrderSearchOptions& options_;
  Draws draws_;
  SequenceTimes times_;
  LocalSearch local_;
  Recomputed all_;
  OrderSearchState state_;
  double spent_ = 0;
  std::vector<Candidate> kept_;  // the shortest first
};

/// A search in which nothing is left to choose.
void ChoiceSearch::search(const OrderProblem& fixed, double end) {
  const double begin = spent_;
  if (!open(end)) return;
  const OrderSearchOptions options{
      .seed = options_.seed, .seeds = options_.seeds, .spent = [&](const OrderSearchState&) {
        count();
        return (spent_ - begin) / (end - begin);
      }};
  const FoundOrder found = search_order(fixed, options);
  if (found.sequences) try_order(*found.sequences, found.origin);
}

/// Recomputes as little as makes an order fit: from nothing on, and from everything on.
void ChoiceSearch::try_order(const RankSequences& sequences, const std::string& origin) {
  SearchedOrder added{sequences, Recomputed(all_.size(), 0)};
  bool fits = true;
  for (std::uint32_t rank = 0; rank < problem_.ranks() && fits; ++rank) {
    fits = recompute_to_fit(problem_, rank, sequences[rank], added.recomputed);
  }
  if (!fits) return;
  keep(added, origin);
  SearchedOrder thinned{sequences, all_};
  for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
    if (first_overflow(problem_, rank, sequences[rank], all_)) return;
  }
  keep_what_fits(problem_, thinned);
  keep(std::move(thinned), origin);
}

void ChoiceSearch::keep(SearchedOrder order, const std::string& origin) {
  times_.recompute(order.recomputed);
  if (!times_.run(order.sequences)) return;
  Candidate candidate{times_.makespan(), times_.sum_of_starts(), std::move(order), origin};
  kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), candidate), std::move(candidate));
  if (kept_.size() > most_candidates) kept_.pop_back();
  state_.best = kept_.front().makespan;
  count();
}

/// Local search from each of the best in turn.
void ChoiceSearch::improve() {
  const std::vector<Candidate> from = kept_;
  for (std::size_t n = 0; n < from.size(); ++n) {
    const double end =
        roomy_end + (1 - roomy_end) * static_cast<double>(n + 1) / static_cast<double>(from.size());
    if (!open(end)) continue;
    SearchedOrder order = from[n].order;
    const SearchTime makespan = local_.improve(order, state_.bound, draws_, [&] {
      count();
      return spent_ < end;
    });
    if (makespan < from[n].makespan) keep(std::move(order), "local search from " + from[n].origin);
  }
}

FoundOrder ChoiceSearch::result() {
  FoundOrder found{
      .sequences = {}, .recomputed = {}, .origin = {}, .state = state_, .proven = false};
  if (kept_.empty()) return found;
  found.proven = state_.best <= state_.bound;
  found.origin = std::move(kept_.front().origin);
  found.sequences = std::move(kept_.front().order.sequences);
  found.recomputed = std::move(kept_.front().order.recomputed);
  return found;
}

}  // namespace

FoundOrder search_with_recomputation(const OrderProblem& problem,
                                     const OrderSearchOptions& options) {
  if (!chooses_recomputation(problem)) return search_order(problem, options);
  ChoiceSearch search(problem, options);
  search.run();
  return search.result();
}

}  // namespace penstock
