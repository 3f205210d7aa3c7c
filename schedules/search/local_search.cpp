#include "schedules/search/local_search.hpp"

#include <algorithm>
#include <utility>

#include "schedules/search/form_choice.hpp"

namespace penstock {
namespace {

/// So many activations are recomputed at most to make room for one pass.
constexpr std::uint32_t most_recomputed = 4;

/// Passes of one class keep their order.
bool move_earlier(std::vector<CellClass>& sequence, std::uint32_t at, std::uint32_t places) {
  const CellClass moved = sequence[at];
  std::uint32_t to = at;
  while (to > 0 && places-- > 0 && sequence[to - 1] != moved) {
    sequence[to] = sequence[to - 1];
    --to;
  }
  sequence[to] = moved;
  return to < at;
}

bool move_later(std::vector<CellClass>& sequence, std::uint32_t at, std::uint32_t places) {
  const CellClass moved = sequence[at];
  std::uint32_t to = at;
  while (to + 1 < sequence.size() && places-- > 0 && sequence[to + 1] != moved) {
    sequence[to] = sequence[to + 1];
    ++to;
  }
  sequence[to] = moved;
  return to > at;
}

bool change(std::vector<CellClass>& sequence, std::uint32_t at, Draws& draws) {
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

}  // namespace

LocalSearch::LocalSearch(const OrderProblem& problem)
    : problem_(problem),
      times_(problem),
      done_(problem.stages.size() * SearchPass::count),
      chooses_recomputation_(chooses_recomputation(problem)),
      chooses_whole_(chooses_whole(problem)) {
  spread_ = 2 * static_cast<double>(problem.stages[0].duration[SearchPass::forward]);
}

/// Of a pass of an activation whose backward runs as a whole: its W.
bool LocalSearch::has_no_length(const SearchedOrder& order, CellClass cell,
                                std::size_t number) const {
  return !order.forms.empty() && cell % SearchPass::count == SearchPass::weight &&
         times_.durations()[number] == 0;
}

void LocalSearch::find_critical(const SearchedOrder& order) {
  const RankSequences& sequences = order.sequences;
  times_.find_latest();
  critical_.clear();
  std::fill(done_.begin(), done_.end(), 0);
  for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
    SearchTime end = -1;  // of a critical predecessor
    for (std::uint32_t at = 0; at < sequences[rank].size(); ++at) {
      const CellClass cell = sequences[rank][at];
      const std::size_t number = std::size_t{cell} * problem_.microbatches + done_[cell]++;
      const SearchTime start = times_.starts()[number];
      if (has_no_length(order, cell, number)) continue;
      const bool critical = times_.latest()[number] == start;
      if (critical && end == start) critical_.push_back({rank, at});
      end = critical ? start + times_.durations()[number] : -1;
    }
  }
}

void LocalSearch::flip(SearchedOrder& order, const Flip& flip) {
  ActivationForm& form = order.forms[flip.activation];
  form ^= flip.flags;
  times_.set_form(static_cast<std::uint32_t>(flip.activation / problem_.microbatches),
                  static_cast<std::uint32_t>(flip.activation % problem_.microbatches), form);
  flipped_.push_back(flip);
}

/// Keeps an activation that is recomputed: that of the critical pass, or one of its rank.
bool LocalSearch::keep_one(SearchedOrder& order, const Place& critical, Draws& draws) {
  const auto& sequence = order.sequences[critical.rank];
  const std::uint32_t at = draws.one_in(2) ? critical.at : draws.below(sequence.size());
  const auto place = sequence.begin() + at;
  const std::size_t first = std::size_t{*place / SearchPass::count} * problem_.microbatches;
  const auto microbatch = static_cast<std::size_t>(std::count(sequence.begin(), place, *place));
  for (std::uint32_t n = 0; n < problem_.microbatches; ++n) {
    const std::size_t activation = first + (microbatch + n) % problem_.microbatches;
    if ((order.forms[activation] & recomputed_form) == 0) continue;
    flip(order, {activation, recomputed_form});
    return !first_overflow(problem_, critical.rank, sequence, order.forms);
  }
  return false;
}

/// Runs the backward of an activation as a whole or in two parts, unlike before: that of the
/// critical pass, or of one of its rank.
bool LocalSearch::switch_whole(SearchedOrder& order, const Place& critical, Draws& draws) {
  const auto& sequence = order.sequences[critical.rank];
  const std::uint32_t at = draws.one_in(2) ? critical.at : draws.below(sequence.size());
  const auto place = sequence.begin() + at;
  const std::uint32_t stage = *place / SearchPass::count;
  if (!problem_.stages[stage].whole) return false;
  const auto microbatch = static_cast<std::size_t>(std::count(sequence.begin(), place, *place));
  flip(order, {std::size_t{stage} * problem_.microbatches + microbatch, whole_form});
  return true;
}

/// Has activations recomputed until a rank's sequence fits.
bool LocalSearch::make_room(SearchedOrder& order, std::uint32_t rank, Draws& draws) {
  for (std::uint32_t n = 0; n <= most_recomputed; ++n) {
    const auto overflow = first_overflow(problem_, rank, order.sequences[rank], order.forms);
    if (!overflow) return true;
    if (overflow->sparing.empty()) return false;
    const std::size_t spared = overflow->sparing[draws.below(overflow->sparing.size())];
    flip(order, {spared, recomputed_form});
  }
  return false;
}

/// Changes the order; false if that leads to none that fits.
bool LocalSearch::step(SearchedOrder& order, const Place& critical, Draws& draws) {
  auto& sequence = order.sequences[critical.rank];
  if (!chooses_recomputation_ && !chooses_whole_) {
    return change(sequence, critical.at, draws) && fits_memory(problem_, critical.rank, sequence);
  }
  if (chooses_recomputation_ && draws.one_in(3)) return keep_one(order, critical, draws);
  const bool changed = chooses_whole_ && draws.one_in(3) ? switch_whole(order, critical, draws)
                                                         : change(sequence, critical.at, draws);
  return changed && make_room(order, critical.rank, draws);
}

SearchTime LocalSearch::improve(SearchedOrder& order, SearchTime bound, Draws& draws,
                                const std::function<bool()>& go_on) {
  if (chooses_recomputation_ || chooses_whole_) {
    order.forms.resize(problem_.stages.size() * problem_.microbatches, 0);
  }
  times_.set_forms(order.forms);
  if (!times_.run(order.sequences)) return never;
  SearchTime makespan = times_.makespan();
  double sum = times_.sum_of_starts();
  find_critical(order);
  SearchTime best = makespan;
  SearchedOrder best_order = order;
  std::vector<CellClass> before;
  while (best > bound && !critical_.empty() && go_on()) {
    const Place critical = critical_[draws.below(critical_.size())];
    auto& sequence = order.sequences[critical.rank];
    before = sequence;
    flipped_.clear();
    const double tolerated = draws.one_in(3) ? spread_ : 0;
    const bool kept = step(order, critical, draws) && times_.run(order.sequences, makespan) &&
                      (times_.makespan() < makespan || times_.sum_of_starts() <= sum + tolerated);
    if (!kept) {
      sequence.swap(before);
      const std::vector<Flip> undone = flipped_;
      for (const Flip& done : undone) flip(order, done);
      continue;
    }
    makespan = times_.makespan();
    sum = times_.sum_of_starts();
    find_critical(order);
    if (makespan >= best) continue;
    best = makespan;
    best_order = order;
  }
  order = std::move(best_order);
  return best;
}

SearchTime LocalSearch::improve_judged(SearchedOrder& order, SearchTime makespan, SearchTime bound,
                                       const Judge& judge, Draws& draws,
                                       const std::function<bool()>& go_on) {
  order.forms.resize(problem_.stages.size() * problem_.microbatches, 0);
  times_.set_forms(order.forms);
  while (makespan > bound && go_on()) {
    const SearchedOrder before = order;
    for (std::uint32_t steps = 1 + draws.below(3); steps > 0; --steps) {
      const std::uint32_t rank = draws.below(problem_.ranks());
      const std::size_t length = order.sequences[rank].size();
      if (length > 1) step(order, {rank, 1 + draws.below(length - 1)}, draws);
    }
    flipped_.clear();
    bool fits = times_.run(order.sequences);
    for (std::uint32_t rank = 0; rank < problem_.ranks() && fits; ++rank) {
      fits = !first_overflow(problem_, rank, order.sequences[rank], order.forms);
    }
    const SearchTime judged = fits ? judge(order) : never;
    if (judged <= makespan) {
      makespan = judged;
      continue;
    }
    order = before;
    times_.set_forms(order.forms);
  }
  return makespan;
}

}  // namespace penstock
