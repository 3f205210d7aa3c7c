#include "schedules/search/list_scheduling.hpp"

#include <algorithm>

namespace penstock {

ListScheduler::ListScheduler(const OrderProblem& problem)
    : GreedyRun(problem, TimeDirection::forwards), whole_(problem.ranks(), 0) {
  std::size_t most = 0;
  for (std::uint32_t rank = 0; rank < problem.ranks(); ++rank) {
    for (const std::uint32_t s : stages_[rank])
      whole_[rank] += problem.stages[s].during[SearchPass::forward];
    most = std::max(most, stages_[rank].size());
  }
  heads_.resize(2 * most);
}

/// Whether the F of a stage leaves room for the oldest microbatch that still has F's on this rank.
bool ListScheduler::has_room(std::uint32_t rank, std::uint32_t stage) const {
  const std::int64_t room =
      problem_.capacity[rank] - held_[rank] - problem_.stages[stage].during[SearchPass::forward];
  if (room >= whole_[rank]) return true;
  if (room < 0) return false;
  const std::uint32_t oldest = done_[cell_class(stages_[rank].back(), SearchPass::forward)];
  if (done_[cell_class(stage, SearchPass::forward)] == oldest) return true;
  std::int64_t needed = 0;
  for (const std::uint32_t s : stages_[rank]) {
    if (done_[cell_class(s, SearchPass::forward)] <= oldest)
      needed += problem_.stages[s].during[SearchPass::forward];
  }
  return room >= needed;
}

/// The next F and I of each stage; those that are not ready have `never`. `best` is the W with the
/// lowest key, if any has its I.
std::size_t ListScheduler::find_heads(std::uint32_t rank, Head& best) {
  const SearchTime free = free_[rank];
  std::size_t count = 0;
  for (const std::uint32_t s : stages_[rank]) {
    const CellClass f = cell_class(s, SearchPass::forward), i = f + SearchPass::input,
                    w = f + SearchPass::weight;
    const std::uint32_t fs = done_[f], is = done_[i], ws = done_[w];
    if (fs < microbatches_) {
      const SearchTime at = arrival_[number(f, fs)];
      const bool ready = at < never && has_room(rank, s);
      heads_[count++] = {keys_[number(f, fs)], ready ? std::max(at, free) : never, f};
    }
    if (is < microbatches_) {
      const SearchTime at = is < fs ? arrival_[number(i, is)] : never;
      const bool ready = at < never && held_[rank] + problem_.stages[s].during[SearchPass::input] <=
                                           problem_.capacity[rank];
      heads_[count++] = {keys_[number(i, is)], ready ? std::max(at, free) : never, i};
    }
    if (ws < is) {
      const SearchTime key = keys_[number(w, ws)];
      if (best.ready == never || key < best.key) best = {key, free, w};
    }
  }
  return count;
}

/// Decides what a rank runs next, as far as is known.
void ListScheduler::choose(std::uint32_t rank) {
  Head best_weight{0, never, 0};
  std::size_t count = find_heads(rank, best_weight);
  if (count > rule_.window) {
    const auto begin = heads_.begin(), end = begin + static_cast<std::ptrdiff_t>(count);
    std::partial_sort(begin, begin + rule_.window, end,
                      [](const Head& a, const Head& b) { return a.key < b.key; });
    count = rule_.window;
  }
  SearchTime first = never;
  for (std::size_t h = 0; h < count; ++h) first = std::min(first, heads_[h].ready);
  const Head* best = nullptr;
  if (first < never) {
    for (std::size_t h = 0; h < count; ++h) {
      if (heads_[h].ready > first + rule_.wait) continue;
      if (best == nullptr || heads_[h].key < best->key) best = &heads_[h];
    }
  }
  if (best_weight.ready < never) {
    bool now = best == nullptr || best_weight.key < best->key;
    if (!now) {
      const auto gap = static_cast<double>(best->ready - free_[rank]);
      const OrderStage& stage = problem_.stages[best_weight.cell / SearchPass::count];
      now = gap > 0 && gap >= rule_.fill * static_cast<double>(stage.duration[SearchPass::weight]);
    }
    if (now) best = &best_weight;
  }
  next_[rank] = best == nullptr ? Next{} : Next{best->ready, best->cell};
}

bool ListScheduler::run(std::span<const SearchTime> keys, const ListRule& rule, SearchTime limit) {
  keys_ = keys;
  rule_ = rule;
  return run_all(limit, [this](std::uint32_t rank, const Next* /*ran*/) { choose(rank); });
}

}  // namespace penstock
