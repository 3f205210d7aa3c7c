#include "schedules/search/order_search.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedules/search/draws.hpp"
#include "schedules/search/exhaustive.hpp"
#include "schedules/search/form_choice.hpp"
#include "schedules/search/local_search.hpp"
#include "schedules/search/sequences.hpp"

namespace penstock {
namespace {

/// The shares of the budget at which steps end.
constexpr double first_branching_end = 0.1;
constexpr double fixed_end = 0.55, fixed_end_if_kept = 0.3;
constexpr double last_branching_begin = 0.6;

constexpr std::size_t most_candidates = 4;
/// Branch and bound is tried on so many passes, and goes on to the end of the budget on so many.
constexpr std::size_t most_cells_to_try = 150, most_cells_to_branch = 72;
constexpr std::uint64_t nodes_of_try = 30'000;

class FormSearch : public RunningSearch {
 public:
  FormSearch(const OrderProblem& problem, const OrderSearchOptions& options)
      : RunningSearch(options),
        problem_(problem),
        draws_(options.seed),
        times_(problem),
        local_(problem),
        recomputes_(chooses_recomputation(problem)),
        joins_(chooses_whole(problem)) {
    state_.bound = shortest_possible(with_least_costs(problem));
  }

  void run() {
    for (const OrderSeed& seed : options_.seeds) {
      if (!open(1)) break;
      try_order({seed.sequences, seed.forms}, seed.name);
      count();
    }
    const bool small = !recomputes_ && problem_.cells() <= most_cells_to_branch;
    if (!recomputes_ && problem_.cells() <= most_cells_to_try) {
      branch(first_branching_end, small ? UINT64_MAX : nodes_of_try);
    }
    const double end = small ? last_branching_begin : 1;
    if (!recomputes_ && !joins_) {
      search(problem_, 0, end);
    } else {
      search_fixed(recomputes_ ? fixed_end : fixed_end_if_kept);
      improve(end);
    }
    if (small) branch(1, UINT64_MAX);
  }

 private:
  /// Proves the best to be the shortest, or finds what is.
  void branch(double end, std::uint64_t nodes) {
    if (!open(end)) return;
    ExhaustiveResult found = branch_and_bound(problem_, {.below = state_.best,
                                                         .nodes = nodes,
                                                         .go_on =
                                                             [&] {
                                                               count();
                                                               return spent_ < end;
                                                             },
                                                         .judge = {}});
    if (found.better) keep(std::move(*found.better), "branch and bound");
    if (found.complete && !kept_.empty()) state_.bound = state_.best;
  }

  /// Searches with one form for all activations.
  void search_fixed(double end) {
    std::vector<std::pair<OrderProblem, ActivationForm>> problems{{with_form(problem_, 0), 0}};
    if (recomputes_) {
      problems.emplace_back(with_form(problem_, recomputed_form), 0);
      problems.push_back(problems.front());
      auto& roomy = problems.back().first;
      std::fill(roomy.capacity.begin(), roomy.capacity.end(), never);
    }
    if (joins_) problems.emplace_back(with_form(problem_, whole_form), whole_form);
    const double begin = spent_;
    for (std::size_t n = 0; n < problems.size(); ++n) {
      search(problems[n].first, problems[n].second,
             begin +
                 (end - begin) * static_cast<double>(n + 1) / static_cast<double>(problems.size()));
    }
  }

  /// A search in which nothing is left to choose; what it finds is tried in a form.
  void search(const OrderProblem& fixed, ActivationForm form, double end) {
    const double begin = spent_;
    if (!open(end)) return;
    const OrderSearchOptions options{
        .seed = options_.seed, .seeds = options_.seeds, .spent = [&](const OrderSearchState&) {
          count();
          return (spent_ - begin) / (end - begin);
        }};
    const FoundOrder found = fixed_search(fixed, options);
    if (!found.sequences) return;
    const SearchedOrder order{*found.sequences, all_in_form(problem_, form)};
    try_order(order, found.origin);
    if (joins_ && form == 0 && fits(order)) join(order, end, found.origin);
  }

  /// Recomputes as little as makes an order fit: from nothing on, and from everything on.
  void try_order(SearchedOrder order, const std::string& origin) {
    if (order.forms.empty()) order.forms = all_in_form(problem_, 0);
    SearchedOrder added = order;
    bool all_fit = true;
    for (std::uint32_t rank = 0; rank < problem_.ranks() && all_fit; ++rank) {
      all_fit = recompute_to_fit(problem_, rank, order.sequences[rank], added.forms);
    }
    if (!all_fit) return;
    keep(std::move(added), origin);
    if (!recomputes_) return;
    const ActivationForms all = all_in_form(problem_, recomputed_form);
    for (std::size_t n = 0; n < all.size(); ++n) order.forms[n] |= all[n];
    if (!fits(order)) return;
    keep_what_fits(problem_, order);
    keep(std::move(order), origin);
  }

  bool fits(const SearchedOrder& order) const {
    for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
      if (first_overflow(problem_, rank, order.sequences[rank], order.forms)) return false;
    }
    return true;
  }

  /// Whole backwards where that is shorter: by stage, then one by one.
  void join(SearchedOrder order, double end, const std::string& origin) {
    times_.set_forms(order.forms);
    if (!times_.run(order.sequences)) return;
    const std::uint32_t microbatches = problem_.microbatches;
    for (std::uint32_t s = 0; s < problem_.stage_count() && open(end); ++s) {
      if (!problem_.stages[s].whole) continue;
      std::vector<std::size_t> all(microbatches);
      for (std::uint32_t m = 0; m < microbatches; ++m) all[m] = std::size_t{s} * microbatches + m;
      join_if_shorter(order, all);
    }
    for (std::size_t n = 0; n < order.forms.size() && open(end); ++n) {
      if (problem_.stages[n / microbatches].whole && (order.forms[n] & whole_form) == 0) {
        join_if_shorter(order, {n});
      }
    }
    keep(std::move(order), origin);
  }

  /// Runs the backward of some activations as a whole if that is shorter.
  bool join_if_shorter(SearchedOrder& order, const std::vector<std::size_t>& activations) {
    const SearchTime before = times_.makespan();
    const double sum = times_.sum_of_starts();
    const ActivationForms forms = order.forms;
    for (const std::size_t n : activations) order.forms[n] |= whole_form;
    times_.set_forms(order.forms);
    const bool shorter = times_.run(order.sequences, before) &&
                         (times_.makespan() < before || times_.sum_of_starts() < sum) &&
                         fits(order);
    count();
    if (shorter) return true;
    order.forms = forms;
    times_.set_forms(forms);
    times_.run(order.sequences);
    return false;
  }

  void keep(SearchedOrder order, const std::string& origin) {
    times_.set_forms(order.forms);
    if (!times_.run(order.sequences)) return;
    KeptOrder candidate{times_.makespan(), times_.sum_of_starts(), std::move(order), origin};
    kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), candidate), std::move(candidate));
    if (kept_.size() > most_candidates) kept_.pop_back();
    state_.best = kept_.front().makespan;
  }

  /// Local search from each of the best in turn, then again from what is best by then.
  void improve(double end) {
    const double begin = spent_;
    const std::vector<KeptOrder> from = kept_;
    for (std::size_t n = 0; n <= from.size(); ++n) {
      const double until =
          begin + (end - begin) * static_cast<double>(n + 1) / static_cast<double>(from.size() + 1);
      if (kept_.empty() || !open(until)) continue;
      const KeptOrder start = n < from.size() ? from[n] : kept_.front();
      SearchedOrder order = start.order;
      const SearchTime makespan = local_.improve(order, state_.bound, draws_, [&] {
        count();
        return spent_ < until;
      });
      if (makespan < start.makespan) keep(std::move(order), "local search from " + start.origin);
    }
  }

  const OrderProblem& problem_;
  Draws draws_;
  SequenceTimes times_;
  LocalSearch local_;
  bool recomputes_, joins_;  // what is left to choose
};

}  // namespace

FoundOrder search_order(const OrderProblem& problem, const OrderSearchOptions& options) {
  FormSearch search(problem, options);
  search.run();
  return search.result();
}

}  // namespace penstock
