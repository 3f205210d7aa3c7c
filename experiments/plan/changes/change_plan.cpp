#include "experiments/plan/changes/change_plan.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

/// Single changes that pairs are made of, at most.
constexpr std::size_t most_in_pairs = 24;

/// Pairs that are tried, fewer of a large run: a choice, so that they take a minute or two at most.
std::size_t pairs_for(std::uint64_t tasks) {
  return std::clamp<std::size_t>((std::size_t{1} << 20) / std::max<std::size_t>(tasks, 1), 8, 48);
}

/// Faster, but it fits worse than what runs now.
bool is_lacking(const TriedChange& change, const TriedChange& now) {
  return !is_worth(change, now) && is_faster(change, now);
}

ChangeList listed(const std::vector<TriedChange>& changes, const TriedChange& now,
                  std::size_t tried) {
  ChangeList list{.tried = tried};
  std::ranges::copy_if(changes, std::back_inserter(list.worth),
                       [&](const TriedChange& one) { return is_worth(one, now); });
  std::ranges::copy_if(changes, std::back_inserter(list.lacking),
                       [&](const TriedChange& one) { return is_lacking(one, now); });
  return list;
}

/// Two single changes, by their numbers, and what they should come to together if neither takes
/// from the other.
struct Pair {
  std::size_t first = 0;
  std::size_t second = 0;
  double makespan_us = 0;
  double peak_bytes = 0;
};

/// Changes that help or do no harm: no slower, or smaller at less than the least gain.
std::vector<std::size_t> harmless(const std::vector<TriedChange>& singles, const TriedChange& now) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < singles.size(); ++i) {
    const double gain = gain_of(singles[i], now);
    const bool smaller = singles[i].peak_bytes < now.peak_bytes;
    if (gain >= least_gain || is_worth(singles[i], now) || (smaller && gain > -least_gain)) {
      numbers.push_back(i);
    }
  }
  std::ranges::stable_sort(numbers, {}, [&](std::size_t i) { return singles[i].makespan; });
  if (numbers.size() > most_in_pairs) numbers.resize(most_in_pairs);
  return numbers;
}

/// The most promising pairs: by the time that both should take, those in front that should fit as
/// well as what runs now.
std::vector<Pair> pairs_of(const std::vector<TriedChange>& singles, const TriedChange& now,
                           std::uint64_t most_bytes) {
  std::vector<Pair> pairs;
  const std::vector<std::size_t> numbers = harmless(singles, now);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = i + 1; j < numbers.size(); ++j) {
      const TriedChange &a = singles[numbers[i]], &b = singles[numbers[j]];
      if (!are_apart(a.change, b.change)) continue;
      pairs.push_back({numbers[i], numbers[j], to_us(a.makespan) * (1 - gain_of(b, now)),
                       static_cast<double>(a.peak_bytes) + static_cast<double>(b.peak_bytes) -
                           static_cast<double>(now.peak_bytes)});
    }
  }
  std::ranges::stable_sort(pairs, {}, [&](const Pair& pair) {
    return std::tuple(pair.peak_bytes > static_cast<double>(most_bytes), pair.makespan_us);
  });
  if (const std::size_t most = pairs_for(now.tasks); pairs.size() > most) pairs.resize(most);
  return pairs;
}

/// Runs pairs and lists them. Those in which either change adds nothing to the other are left out.
ChangeList tried_pairs(const Scenario& scenario, const RunResult& result, const TriedChange& now,
                       const std::vector<TriedChange>& singles, const std::vector<Pair>& pairs,
                       const TryOptions& options) {
  std::vector<ScenarioChange> changes;
  for (const Pair& pair : pairs) {
    changes.push_back(both_of(singles[pair.first].change, singles[pair.second].change));
  }
  TriedChanges tried = try_changes(scenario, result, changes, options);
  const std::size_t count = tried.changes.size();
  std::erase_if(tried.changes, [&](const TriedChange& both) {
    const auto adds_to = [&](const TriedChange& one) {
      return is_worth(both, one) || gain_of(both, one) >= least_gain;
    };
    const Pair& pair = pairs[both.number];
    return !adds_to(singles[pair.first]) || !adds_to(singles[pair.second]);
  });
  leave_out_repeats(tried.changes, now);
  return listed(best_of_families(std::move(tried.changes)), now, count);
}

}  // namespace

bool ChangePlan::any_fits() const {
  const auto fits = [](const TriedChange& change) { return change.fits() != false; };
  return fits(now) || std::ranges::any_of(one.worth, fits) || std::ranges::any_of(two.worth, fits);
}

ChangePlan plan_changes(const Scenario& scenario, const RunResult& result,
                        const ChangePlanOptions& options) {
  const TryOptions trying{.most_tasks = std::uint64_t{1} << 26,
                          .jobs = options.jobs,
                          .on_progress = options.on_progress};
  ChangePlan plan{.now = without_change(scenario, result), .training = result.training_cost};
  TriedChanges tried =
      try_changes(scenario, result, changes_of(scenario, result, options.kinds), trying);
  plan.not_tried = tried.not_tried;
  const std::size_t count = tried.changes.size();
  leave_out_repeats(tried.changes, plan.now);
  const std::vector<TriedChange> singles = best_of_families(std::move(tried.changes));
  plan.one = listed(singles, plan.now, count);
  const std::uint64_t usable = result.layout.memory.usable_bytes().value_or(UINT64_MAX);
  plan.two =
      tried_pairs(scenario, result, plan.now, singles, pairs_of(singles, plan.now, usable), trying);
  return plan;
}

std::vector<TriedChange> cheapest(const ChangeList& list, std::size_t best) {
  std::vector<TriedChange> changes = list.worth;
  std::set<ChangeEffort> known;
  std::stable_partition(changes.begin(), changes.end(), [&](const TriedChange& one) {
    return known.insert(one.effort).second;
  });
  if (changes.size() > best) changes.resize(best);
  std::ranges::stable_sort(changes, is_before);
  std::ranges::stable_sort(changes, {}, &TriedChange::effort);
  return changes;
}

}  // namespace penstock
