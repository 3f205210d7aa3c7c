#include "schedules/search/fixed_search.hpp"

#include <algorithm>
#include <array>

#include "schedules/search/building_blocks.hpp"
#include "schedules/search/draws.hpp"
#include "schedules/search/list_scheduling.hpp"
#include "schedules/search/local_search.hpp"
#include "schedules/search/periods.hpp"
#include "schedules/search/priorities.hpp"
#include "schedules/search/sequences.hpp"

namespace penstock {
namespace {

/// The shares of the budget at which each step ends.
constexpr double blocks_end = 0.15;
constexpr double periods_end = 0.3;
constexpr double fewer_end = 0.4;
constexpr double patterns_end = 0.4;
constexpr double neighbours_end = 0.6;
constexpr double local_on_best_end = 0.75;
constexpr double local_on_others_end = 0.92;

constexpr std::size_t most_kept = 6;

/// Lengths of periods, as shares of the shortest: longer ones have room for less memory.
constexpr std::array<double, 12> period_lengths{1,    1.01, 1.02, 1.04, 1.06, 1.09,
                                                1.12, 1.16, 1.2,  1.25, 1.32, 1.4};
constexpr std::uint32_t steps_of_period = 300;
constexpr std::uint32_t steps_of_evaluation = 10;

RankSequences reversed(RankSequences sequences) {
  for (auto& sequence : sequences) std::ranges::reverse(sequence);
  return sequences;
}

class Search : public RunningSearch {
 public:
  Search(const OrderProblem& problem, const OrderSearchOptions& options)
      : RunningSearch(options),
        problem_(problem),
        draws_(options.seed),
        scheduler_(problem),
        times_(problem),
        gaps_(problem),
        backwards_(problem, TimeDirection::backwards),
        local_(problem) {
    state_.bound = shortest_possible(problem);
  }

  void run() {
    for (const OrderSeed& seed : options_.seeds) try_seed(seed);
    if (open(blocks_end)) try_blocks();
    if (open(periods_end)) try_periods();
    if (open(fewer_end)) try_fewer();
    if (open(neighbours_end)) try_patterns();
    if (open(1) && !kept_.empty()) improve();
  }

 private:
  void keep(SearchTime makespan, double sum, const RankSequences& sequences,
            const std::string& origin) {
    const auto place =
        std::upper_bound(kept_.begin(), kept_.end(), KeptOrder{.makespan = makespan, .sum = sum});
    if (place == kept_.end() && kept_.size() == most_kept) return;
    if (place != kept_.begin()) {
      const KeptOrder& before = *std::prev(place);
      if (before.makespan == makespan && before.sum == sum) return;
    }
    for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
      if (!fits_memory(problem_, rank, sequences[rank])) return;
    }
    kept_.insert(place, {makespan, sum, {sequences}, origin});
    if (kept_.size() > most_kept) kept_.pop_back();
    state_.best = kept_.front().makespan;
  }

  void try_seed(const OrderSeed& seed) {
    if (!open(1) || !times_.run(seed.sequences)) return;
    keep(times_.makespan(), times_.sum_of_starts(), seed.sequences, seed.name);
    count();
    const std::vector<SearchTime> starts = times_.starts();
    try_starts(starts, seed.name);
  }

  bool try_keys(const std::vector<SearchTime>& keys, const ListRule& rule, SearchTime limit,
                const std::string& origin) {
    const bool finished = scheduler_.run(keys, rule, limit);
    if (finished) {
      keep(scheduler_.makespan(), scheduler_.sum_of_starts(), scheduler_.sequences(), origin);
    }
    count();
    return finished;
  }

  /// The order of some starts, as it is and with its gaps filled, and these starts as keys of
  /// lists.
  bool try_starts(const std::vector<SearchTime>& starts, const std::string& origin) {
    const RankSequences sequences = sequences_of_starts(problem_, starts);
    if (times_.run(sequences)) {
      keep(times_.makespan(), times_.sum_of_starts(), sequences, origin);
    }
    count();
    if (!open(1)) return false;
    try_filled(sequences, origin);
    for (const bool weights_last : {false, true}) {
      const auto keys = keys_of_starts(starts, problem_, weights_last);
      for (const std::uint32_t window : {1U, 2U, 3U, UINT32_MAX}) {
        if (!open(1)) return false;
        try_keys(keys, {.window = window, .wait = 0, .fill = 0}, never, origin);
      }
    }
    return true;
  }

  /// Sequences with their gaps filled, forwards and backwards in turn, as long as they get shorter.
  void try_filled(const RankSequences& sequences, const std::string& origin) {
    for (const bool early_tail : {false, true}) {
      const FillRule rule{.early_tail = early_tail};
      RankSequences current = sequences;
      for (SearchTime before = never; open(1);) {
        const bool filled = gaps_.run(current, rule);
        if (filled) keep(gaps_.makespan(), gaps_.sum_of_starts(), gaps_.sequences(), origin);
        count();
        if (!filled || gaps_.makespan() >= before) break;
        before = gaps_.makespan();
        current = reversed(gaps_.sequences());
        if (!backwards_.run(current, {})) break;
        current = reversed(backwards_.sequences());
        if (times_.run(current)) keep(times_.makespan(), times_.sum_of_starts(), current, origin);
        count();
      }
    }
  }

  /// Building blocks, repeated, with their gaps filled.
  void try_blocks() {
    for (const BuildingBlock& block : building_blocks(problem_)) {
      if (!open(blocks_end)) return;
      try_filled(sequences_of_block(problem_, block), "building block");
    }
  }

  /// Periods of several lengths, repeated.
  void try_periods() {
    PeriodFinder finder(problem_);
    Draws draws(options_.seed);
    for (const double length : period_lengths) {
      if (!open(periods_end)) return;
      const auto rounded =
          static_cast<SearchTime>(static_cast<double>(finder.shortest()) * length) + 1;
      const Period period = finder.find(rounded, steps_of_period, draws);
      for (std::uint32_t n = 0; n < steps_of_period / steps_of_evaluation; ++n) count();
      if (period.start.empty()) continue;
      if (!try_starts(repeated_starts(period, problem_.microbatches), "period")) return;
    }
  }

  /// The same problem with fewer microbatches is solved first: its patterns and orders are
  /// lengthened.
  void try_fewer() {
    OrderProblem few = problem_;
    few.microbatches = std::max(problem_.ranks() + 2, problem_.ranks() * 3 / 2);
    if (few.microbatches + few.microbatches / 4 > problem_.microbatches) return;
    const OrderSearchOptions options{
        .seed = options_.seed, .seeds = {}, .spent = [&](const OrderSearchState&) {
          count();
          return spent_ / fewer_end;
        }};
    Search fewer(few, options);
    fewer.run();
    patterns_ = fewer.patterns_;
    try_lengthened(fewer);
  }

  void try_lengthened(const Search& fewer) {
    SequenceTimes times(fewer.problem_);
    for (const KeptOrder& kept : fewer.kept_) {
      if (!times.run(kept.order.sequences)) continue;
      for (std::uint32_t at = 0; at < fewer.problem_.microbatches; ++at) {
        const auto starts =
            lengthened_starts(fewer.problem_, times.starts(), problem_.microbatches, at);
        if (!try_starts(starts, kept.origin)) return;
      }
    }
  }

  void try_patterns() {
    double end = patterns_end;
    PatternSearch search(problem_, draws_, [&](const ListScheduler* finished) {
      if (finished != nullptr) {
        keep(finished->makespan(), finished->sum_of_starts(), finished->sequences(), "list");
      }
      count();
      return open(end);
    });
    search.try_each(patterns_);
    search.try_systematic();
    end = neighbours_end;
    search.try_neighbours();
    patterns_ = search.best();
  }

  /// Local search from the best, then from the others, then again from what is best by then.
  void improve() {
    if (open(local_on_best_end)) improve(0, local_on_best_end);
    const std::size_t others = kept_.size() - 1;
    for (std::size_t n = 1; n <= others && n < kept_.size(); ++n) {
      const double end = local_on_best_end + (local_on_others_end - local_on_best_end) *
                                                 static_cast<double>(n) /
                                                 static_cast<double>(others);
      if (open(end)) improve(n, end);
    }
    if (open(1)) improve(0, 1);
  }

  void improve(std::size_t number, double end) {
    SearchedOrder order = kept_[number].order;
    const std::string from = kept_[number].origin;
    const SearchTime before = kept_[number].makespan;
    const SearchTime makespan = local_.improve(order, state_.bound, draws_, [&] {
      count();
      return spent_ < end;
    });
    if (makespan >= before || !times_.run(order.sequences)) return;
    keep(makespan, times_.sum_of_starts(), order.sequences, "local search from " + from);
  }

  const OrderProblem& problem_;
  Draws draws_;
  ListScheduler scheduler_;
  SequenceTimes times_;
  GapFiller gaps_, backwards_;
  LocalSearch local_;
  std::vector<PriorityPattern> patterns_;  // the best
};

}  // namespace

FoundOrder fixed_search(const OrderProblem& problem, const OrderSearchOptions& options) {
  Search search(problem, options);
  search.run();
  return search.result();
}

}  // namespace penstock
