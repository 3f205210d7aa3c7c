#include "schedules/search/list_scheduling.hpp"

#include <algorithm>

namespace penstock {
ListScheduler::ListScheduler(const OrderProblem& problem)
    : problem_(problem),
      microbatches_(problem.microbatches),
      stages_(stages_by_rank(problem)),
      whole_(problem.ranks(), 0),
      work_(work_and_updates(problem)),
      free_(problem.ranks()),
      link_(problem.ranks()),
      held_(problem.ranks()),
      next_(problem.ranks()),
      done_(problem.stages.size() * SearchPass::count),
      arrival_(problem.cells()),
      start_(problem.cells()),
      sequence_(problem.ranks()) {
  std::size_t most = 0;
  for (std::uint32_t rank = 0; rank < problem.ranks(); ++rank) {
    for (const std::uint32_t s : stages_[rank])
      whole_[rank] += problem.stages[s].during[SearchPass::forward];
    most = std::max(most, stages_[rank].size());
    sequence_[rank].reserve(stages_[rank].size() * SearchPass::count * microbatches_);
  }
  heads_.resize(2 * most);
}

void ListScheduler::begin() {
  std::fill(free_.begin(), free_.end(), 0);
  std::fill(link_.begin(), link_.end(), 0);
  std::fill(held_.begin(), held_.end(), 0);
  std::fill(done_.begin(), done_.end(), 0);
  std::fill(arrival_.begin(), arrival_.end(), never);
  std::fill(arrival_.begin(), arrival_.begin() + microbatches_, 0);
  left_ = work_;
  for (auto& sequence : sequence_) sequence.clear();
  makespan_ = 0;
  sum_of_starts_ = 0;
  for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) choose(rank);
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
      const SearchTime at = arrival(f, fs);
      const bool ready = at < never && has_room(rank, s);
      heads_[count++] = {keys_[std::size_t{f} * microbatches_ + fs],
                         ready ? std::max(at, free) : never, f};
    }
    if (is < microbatches_) {
      const SearchTime at = is < fs ? arrival(i, is) : never;
      const bool ready = at < never && held_[rank] + problem_.stages[s].during[SearchPass::input] <=
                                           problem_.capacity[rank];
      heads_[count++] = {keys_[std::size_t{i} * microbatches_ + is],
                         ready ? std::max(at, free) : never, i};
    }
    if (ws < is) {
      const SearchTime key = keys_[std::size_t{w} * microbatches_ + ws];
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

std::uint32_t ListScheduler::earliest_rank() const {
  std::uint32_t first = 0;
  for (std::uint32_t rank = 1; rank < problem_.ranks(); ++rank) {
    if (next_[rank].start < next_[first].start) first = rank;
  }
  return first;
}

/// An input of a pass arrives; the rank that runs it decides again where it waits for it.
void ListScheduler::arrive(CellClass cell, std::uint32_t microbatch, SearchTime time,
                           std::uint32_t from) {
  arrival(cell, microbatch) = time;
  const std::uint32_t rank = problem_.stages[cell / SearchPass::count].rank;
  if (rank != from && done_[cell] == microbatch) choose(rank);
}

/// Starts what a rank has chosen; returns a time that the makespan cannot be below.
SearchTime ListScheduler::start(std::uint32_t rank) {
  const auto [begin, cell] = next_[rank];
  const std::uint32_t s = cell / SearchPass::count, pass = cell % SearchPass::count;
  const OrderStage& stage = problem_.stages[s];
  const std::uint32_t microbatch = done_[cell]++;
  const SearchTime end = begin + stage.duration[pass];
  start_[std::size_t{cell} * microbatches_ + microbatch] = begin;
  sequence_[rank].push_back(cell);
  free_[rank] = end;
  held_[rank] += stage.change[pass];
  left_[rank] -= stage.duration[pass];
  makespan_ = std::max(makespan_, end + left_[rank]);
  if (pass == SearchPass::forward) {
    const bool last = s + 1 == problem_.stage_count();
    arrive(last ? cell + SearchPass::input : cell_class(s + 1, SearchPass::forward), microbatch,
           end + stage.to_after, rank);
  } else if (pass == SearchPass::weight) {
    if (microbatch + 1 == microbatches_) {
      link_[rank] = stage.tail.reduced(end, link_[rank]);
      makespan_ = std::max(makespan_, link_[rank] + stage.tail.rest);
    }
  } else {
    sum_of_starts_ += static_cast<double>(begin);
    if (s > 0)
      arrive(cell_class(s - 1, SearchPass::input), microbatch, end + stage.to_before, rank);
  }
  choose(rank);
  return makespan_;
}

bool ListScheduler::run(std::span<const SearchTime> keys, const ListRule& rule, SearchTime limit) {
  keys_ = keys;
  rule_ = rule;
  begin();
  for (std::size_t left = problem_.cells(); left > 0; --left) {
    const std::uint32_t rank = earliest_rank();
    if (next_[rank].start == never) return false;
    if (start(rank) > limit) return false;
  }
  for (const SearchTime end : free_) sum_of_starts_ += static_cast<double>(end);
  return true;
}

}  // namespace penstock
