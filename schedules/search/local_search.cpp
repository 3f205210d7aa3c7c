#include "schedules/search/local_search.hpp"

#include <algorithm>
#include <utility>

namespace penstock {

LocalSearch::LocalSearch(const OrderProblem& problem)
    : problem_(problem), times_(problem), done_(problem.stages.size() * SearchPass::count) {
  spread_ = 2 * static_cast<double>(problem.stages[0].duration[SearchPass::forward]);
}

void LocalSearch::find_critical(const RankSequences& sequences) {
  times_.find_latest();
  critical_.clear();
  std::fill(done_.begin(), done_.end(), 0);
  for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
    SearchTime end = -1;  // of a critical predecessor
    for (std::uint32_t at = 0; at < sequences[rank].size(); ++at) {
      const CellClass cell = sequences[rank][at];
      const std::size_t number = std::size_t{cell} * problem_.microbatches + done_[cell]++;
      const SearchTime start = times_.starts()[number];
      const bool critical = times_.latest()[number] == start;
      if (critical && end == start) critical_.push_back({rank, at});
      const OrderStage& stage = problem_.stages[cell / SearchPass::count];
      end = critical ? start + stage.duration[cell % SearchPass::count] : -1;
    }
  }
}

/// Passes of one class keep their order.
bool LocalSearch::move_earlier(std::vector<CellClass>& sequence, std::uint32_t at,
                               std::uint32_t places) {
  const CellClass moved = sequence[at];
  std::uint32_t to = at;
  while (to > 0 && places-- > 0 && sequence[to - 1] != moved) {
    sequence[to] = sequence[to - 1];
    --to;
  }
  sequence[to] = moved;
  return to < at;
}

bool LocalSearch::move_later(std::vector<CellClass>& sequence, std::uint32_t at,
                             std::uint32_t places) {
  const CellClass moved = sequence[at];
  std::uint32_t to = at;
  while (to + 1 < sequence.size() && places-- > 0 && sequence[to + 1] != moved) {
    sequence[to] = sequence[to + 1];
    ++to;
  }
  sequence[to] = moved;
  return to > at;
}

bool LocalSearch::change(std::vector<CellClass>& sequence, std::uint32_t at, Draws& draws) const {
  switch (draws.below(4)) {
    case 0:
      return move_earlier(sequence, at, 1);
    case 1:
      return move_earlier(sequence, at, 1 + draws.below(6));
    case 2:
      return move_later(sequence, at - 1, 1);
    default:
      return move_later(sequence, at - 1, 1 + draws.below(12));
  }
}

SearchTime LocalSearch::improve(RankSequences& sequences, SearchTime bound, Draws& draws,
                                const std::function<bool()>& go_on) {
  if (!times_.run(sequences)) return never;
  SearchTime makespan = times_.makespan();
  double sum = times_.sum_of_starts();
  find_critical(sequences);
  SearchTime best = makespan;
  RankSequences best_sequences = sequences;
  std::vector<CellClass> before;
  while (best > bound && !critical_.empty() && go_on()) {
    const auto [rank, at] = critical_[draws.below(critical_.size())];
    auto& sequence = sequences[rank];
    before = sequence;
    const double tolerated = draws.one_in(3) ? spread_ : 0;
    const bool kept = change(sequence, at, draws) && fits_memory(problem_, rank, sequence) &&
                      times_.run(sequences, makespan) &&
                      (times_.makespan() < makespan || times_.sum_of_starts() <= sum + tolerated);
    if (!kept) {
      sequence.swap(before);
      continue;
    }
    makespan = times_.makespan();
    sum = times_.sum_of_starts();
    find_critical(sequences);
    if (makespan >= best) continue;
    best = makespan;
    best_sequences = sequences;
  }
  sequences = std::move(best_sequences);
  return best;
}

}  // namespace penstock
