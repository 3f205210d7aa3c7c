#include "schedules/search/priorities.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace penstock {
namespace {

constexpr SearchTime behind_all = never / 4;
constexpr std::array<std::uint32_t, 4> windows{1, 2, 3, UINT32_MAX};
constexpr std::array<double, 4> fills{0, 0.25, 0.5, 1};

/// The steps of a systematic pattern: none, one or two units behind every pass of a segment.
constexpr std::uint64_t steps = 3;
constexpr std::uint64_t most_combinations = 256;

constexpr std::size_t most_patterns = 12;
constexpr std::size_t least_patterns = 3;
constexpr std::uint64_t neighbours_before_halving = 3000;

}  // namespace

PriorityPatterns::PriorityPatterns(const OrderProblem& problem)
    : problem_(problem), stages_(stages_by_rank(problem)) {
  SearchTime forwards = 0;
  for (const OrderStage& stage : problem.stages) forwards += stage.duration[SearchPass::forward];
  unit_ = std::max<SearchTime>(1, forwards / problem.stage_count());
  const auto work = work_by_rank(problem);
  period_ = std::max<SearchTime>(1, *std::ranges::max_element(work) / problem.microbatches);
  segments_ = 2 * std::max(1U, problem.stage_count() / problem.ranks());
  std::uint64_t combinations = 1;
  for (std::uint32_t s = 0; s < segments_ && combinations < most_combinations; ++s) {
    combinations *= steps;
  }
  count_ = std::min<std::uint64_t>(2 * combinations, 2 * most_combinations);
}

void PriorityPatterns::draw_group(PriorityPattern& pattern, Draws& draws) const {
  const std::uint32_t ranks = problem_.ranks();
  pattern.group = 1;
  if (segments_ <= 2 || draws.one_in(2)) return;
  switch (draws.below(4)) {
    case 0:
      pattern.group = ranks;
      break;
    case 1:
      pattern.group = (ranks + 1) / 2;
      break;
    case 2:
      pattern.group = 2;
      break;
    default:
      pattern.group = 1 + draws.below(2 * std::uint64_t{ranks});
      break;
  }
  if (draws.one_in(2)) separate_chunks(pattern);
}

/// Each chunk of a group begins when the one before it has run on its first rank.
void PriorityPatterns::separate_chunks(PriorityPattern& pattern) const {
  const std::uint32_t count = problem_.stage_count(), ranks = problem_.ranks();
  const SearchTime chunk = SearchTime{pattern.group} * period_ / (segments_ / 2);
  SearchTime passed = 0;
  for (std::uint32_t at = 0; at < 2 * count; ++at) {
    const bool forward = at < count;
    const OrderStage& stage = problem_.stages[forward ? at : 2 * count - 1 - at];
    const bool turn = (at + 1) % ranks == 0;
    passed += forward ? stage.duration[SearchPass::forward] + stage.to_after
                      : stage.duration[SearchPass::input] + stage.to_before;
    if (turn) pattern.slack[at] = std::max<SearchTime>(0, chunk - passed);
    passed += turn ? 0 : pattern.slack[at];
    if (turn) passed = 0;
  }
}

void PriorityPatterns::draw_warmup(PriorityPattern& pattern, Draws& draws) const {
  const std::int64_t kept = draws.below(3), less = draws.below(3);
  for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
    if (stages_[rank].empty()) continue;
    const std::uint32_t s = stages_[rank].front();
    const std::int64_t bytes =
        std::max<std::int64_t>(1, problem_.stages[s].during[SearchPass::forward]);
    const std::int64_t room = problem_.capacity[rank] / bytes - kept - less * rank;
    pattern.warmup[s] =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(room, 1, problem_.microbatches));
  }
}

PriorityPattern PriorityPatterns::make(std::uint64_t number, Draws& draws) const {
  PriorityPattern pattern;
  const std::uint32_t count = problem_.stage_count(), ranks = problem_.ranks();
  pattern.slack.assign(2 * std::size_t{count}, 0);
  std::uint64_t code = number / 2;
  const bool drawn = segments_ > 5;
  for (std::uint32_t segment = 0; segment < segments_; ++segment) {
    const std::uint64_t step = drawn ? draws.below(steps) : code % steps;
    code /= steps;
    for (std::uint32_t hop = 0; hop + 1 < ranks; ++hop) {
      const std::size_t at = std::size_t{segment} * ranks + hop;
      if (at < pattern.slack.size()) pattern.slack[at] = static_cast<SearchTime>(step) * unit_;
    }
  }
  if (number % 2 == 1) pattern.slack[count - 1] = 2 * unit_;
  pattern.warmup.assign(count, 0);
  return pattern;
}

PriorityPattern PriorityPatterns::neighbour(const PriorityPattern& pattern, Draws& draws) const {
  PriorityPattern changed = pattern;
  auto& slack = changed.slack;
  const std::uint32_t changes = 1 + draws.below(3);
  for (std::uint32_t c = 0; c < changes; ++c) {
    SearchTime& at = slack[draws.below(slack.size())];
    if (draws.one_in(4)) {
      const SearchTime moved = std::min(at, unit_);
      at -= moved;
      slack[draws.below(slack.size())] += moved;
      continue;
    }
    SearchTime step = unit_ * (1 + draws.below(3));
    if (draws.one_in(3)) step /= 2;
    if (draws.one_in(2)) step = -step;
    at = std::max(draws.one_in(8) ? -period_ : 0, at + step);
  }
  if (draws.one_in(4)) {
    std::uint32_t& first = changed.warmup[draws.below(changed.warmup.size())];
    first = draws.one_in(2) ? first + 1 : first - std::min(first, 1U);
  }
  if (draws.one_in(20)) changed.rule.window = windows[draws.below(windows.size())];
  if (draws.one_in(20)) changed.rule.fill = fills[draws.below(fills.size())];
  if (draws.one_in(20)) changed.weights = static_cast<WeightKeys>(draws.below(3));
  if (draws.one_in(20)) draw_group(changed, draws);
  return changed;
}

PriorityPatterns::Offsets PriorityPatterns::offsets(const PriorityPattern& pattern) const {
  const std::uint32_t count = problem_.stage_count();
  Offsets offsets{std::vector<SearchTime>(count), std::vector<SearchTime>(count)};
  SearchTime time = 0;
  for (std::uint32_t s = 0; s < count; ++s) {
    const OrderStage& stage = problem_.stages[s];
    offsets.forward[s] = time;
    time += stage.duration[SearchPass::forward] + stage.to_after + pattern.slack[s];
  }
  for (std::uint32_t s = count; s-- > 0;) {
    const OrderStage& stage = problem_.stages[s];
    offsets.input[s] = time;
    time += stage.duration[SearchPass::input] + stage.to_before +
            pattern.slack[2 * std::size_t{count} - 1 - s];
  }
  return offsets;
}

void PriorityPatterns::write_keys(const PriorityPattern& pattern,
                                  std::vector<SearchTime>& keys) const {
  const Offsets at = offsets(pattern);
  const std::uint32_t microbatches = problem_.microbatches, group = pattern.group;
  const SearchTime within = group > 1 ? period_ / (segments_ / 2) : period_;
  keys.resize(problem_.cells());
  for (std::uint32_t s = 0; s < problem_.stage_count(); ++s) {
    SearchTime* forward = &keys[std::size_t{cell_class(s, 0)} * microbatches];
    SearchTime *input = forward + microbatches, *weight = input + microbatches;
    for (std::uint32_t m = 0; m < microbatches; ++m) {
      const SearchTime base =
          SearchTime{m / group * group} * period_ + SearchTime{m % group} * within;
      forward[m] =
          m < pattern.warmup[s] ? at.forward[s] / 4 + SearchTime{m} * unit_ : at.forward[s] + base;
      input[m] = at.input[s] + base;
      switch (pattern.weights) {
        case WeightKeys::last:
          weight[m] = behind_all + input[m];
          break;
        case WeightKeys::behind_input:
          weight[m] = input[m] + 1;
          break;
        case WeightKeys::newest_first:
          weight[m] = behind_all - input[m];
          break;
      }
    }
  }
}

std::vector<SearchTime> keys_of_starts(const std::vector<SearchTime>& starts,
                                       const OrderProblem& problem, bool weights_last) {
  std::vector<SearchTime> keys = starts;
  if (!weights_last) return keys;
  for (std::uint32_t s = 0; s < problem.stage_count(); ++s) {
    const std::size_t first = std::size_t{cell_class(s, SearchPass::weight)} * problem.microbatches;
    for (std::uint32_t m = 0; m < problem.microbatches; ++m) keys[first + m] += behind_all;
  }
  return keys;
}

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
