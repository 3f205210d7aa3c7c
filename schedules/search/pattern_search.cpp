#include "schedules/search/pattern_search.hpp"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

constexpr std::size_t most_patterns = 12;
constexpr std::size_t least_patterns = 3;
constexpr std::uint64_t neighbours_before_halving = 3000;

}  // namespace

PatternSearch::PatternSearch(const OrderProblem& problem, Draws& draws, OnTried on_tried)
    : draws_(draws), on_tried_(std::move(on_tried)), scheduler_(problem), patterns_(problem) {}

bool PatternSearch::run(Tried& tried, SearchTime limit) {
  patterns_.write_keys(tried.pattern, keys_);
  const bool finished = scheduler_.run(keys_, tried.pattern.rule, limit);
  tried.makespan = finished ? scheduler_.makespan() : never;
  tried.sum = finished ? scheduler_.sum_of_starts() : 0;
  open_ = on_tried_(finished ? &scheduler_ : nullptr);
  return finished;
}

void PatternSearch::keep_best(std::size_t count) {
  std::sort(tried_.begin(), tried_.end());
  if (tried_.size() > count) tried_.resize(count);
}

void PatternSearch::try_rules(PriorityPattern pattern) {
  for (const std::uint32_t window : {1U, 2U, UINT32_MAX}) {
    for (const WeightKeys weights : {WeightKeys::last, WeightKeys::newest_first}) {
      if (!open_) return;
      pattern.rule.window = window;
      pattern.weights = weights;
      Tried tried{pattern};
      if (run(tried, never)) tried_.push_back(std::move(tried));
    }
  }
}

/// Each pattern unchanged, with F's that come first, and with groups of microbatches.
void PatternSearch::try_systematic() {
  for (std::uint64_t number = 0; number < patterns_.count() && open_; ++number) {
    PriorityPattern pattern = patterns_.make(number, draws_);
    try_rules(pattern);
    PriorityPattern warm = pattern;
    patterns_.draw_warmup(warm, draws_);
    try_rules(std::move(warm));
    patterns_.draw_group(pattern, draws_);
    if (pattern.group > 1) try_rules(std::move(pattern));
  }
  keep_best(most_patterns);
}

void PatternSearch::try_each(const std::vector<PriorityPattern>& patterns) {
  for (const PriorityPattern& pattern : patterns) {
    Tried tried{pattern};
    if (open_ && run(tried, never)) tried_.push_back(std::move(tried));
  }
}

/// Each of the best patterns in turn goes to a neighbour that is no longer; the worse half is
/// dropped from time to time.
void PatternSearch::try_neighbours() {
  open_ = true;
  keep_best(most_patterns);
  if (tried_.empty()) return;
  for (std::uint64_t n = 1; open_; ++n) {
    Tried& from = tried_[n % tried_.size()];
    Tried to{patterns_.neighbour(from.pattern, draws_)};
    if (run(to, from.makespan) && !(from < to)) from = std::move(to);
    if (n % neighbours_before_halving != 0 || tried_.size() <= least_patterns) continue;
    keep_best((tried_.size() + 1) / 2);
  }
}

std::vector<PriorityPattern> PatternSearch::best() const {
  std::vector<PriorityPattern> patterns;
  for (const Tried& tried : tried_) patterns.push_back(tried.pattern);
  return patterns;
}

}  // namespace penstock
