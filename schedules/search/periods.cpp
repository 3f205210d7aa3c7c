#include "schedules/search/periods.hpp"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

/// The hops of a leg: as soon as possible, or such that on every so manieth rank the passes of all
/// legs meet in the same way. Waits are multiples of a share.
constexpr std::array<double, 7> hops{0, 1.0 / 6, 0.2, 0.25, 1.0 / 3, 0.5, 2.0 / 3};
constexpr std::uint32_t waits = 12;

/// Rounds down, also below zero.
SearchTime whole_periods(SearchTime time, SearchTime length) {
  return time >= 0 ? time / length : -((-time + length - 1) / length);
}

}  // namespace

PeriodFinder::PeriodFinder(const OrderProblem& problem)
    : problem_(problem),
      stages_(stages_by_rank(problem)),
      legs_(2 * std::max(1U, problem.stage_count() / problem.ranks())),
      taken_(problem.ranks()) {
  for (const SearchTime work : work_by_rank(problem)) {
    shortest_ = std::max(shortest_, work / problem.microbatches);
  }
}

void PeriodFinder::add_span(std::vector<Span>& taken, SearchTime begin, SearchTime duration) const {
  const auto add = [&](Span span) {
    if (span.begin == span.end) return;
    const auto place =
        std::ranges::find_if(taken, [&](const Span& other) { return other.begin > span.begin; });
    taken.insert(place, span);
  };
  const SearchTime end = begin + duration;
  add({begin, std::min(end, now_.length)});
  if (end > now_.length) add({0, end - now_.length});
}

/// Puts a pass at the first time from `earliest` on that is free in every repetition; false where
/// the gaps of its rank are too short.
bool PeriodFinder::place(CellClass cell, SearchTime earliest) {
  const OrderStage& stage = problem_.stages[cell / SearchPass::count];
  const SearchTime duration = stage.duration[cell % SearchPass::count];
  std::vector<Span>& taken = taken_[stage.rank];
  const SearchTime length = now_.length;
  SearchTime at = earliest;
  const auto move_on = [&] {
    const SearchTime begin = at % length;
    for (const SearchTime turn : {SearchTime{0}, length}) {
      for (const Span& span : taken) {
        if (span.begin + turn >= begin + duration || begin >= span.end + turn) continue;
        at += span.end + turn - begin;
        return true;
      }
    }
    return false;
  };
  while (move_on()) {
    if (at > earliest + length) return false;
  }
  now_.start[cell] = at;
  add_span(taken, at % length, duration);
  return true;
}

bool PeriodFinder::place_all() {
  for (auto& taken : taken_) taken.clear();
  const std::uint32_t count = problem_.stage_count(), ranks = problem_.ranks();
  const auto share = [&](double of) {
    return static_cast<SearchTime>(of * static_cast<double>(now_.length));
  };
  SearchTime ready = 0, start = 0;
  for (std::uint32_t at = 0; at < 2 * count; ++at) {
    const bool forward = at < count;
    const std::uint32_t s = forward ? at : 2 * count - 1 - at;
    const OrderStage& stage = problem_.stages[s];
    const std::uint32_t pass = forward ? SearchPass::forward : SearchPass::input;
    const Leg& leg = legs_[std::min<std::size_t>(at / ranks, legs_.size() - 1)];
    const bool turns = at % ranks == 0;
    const SearchTime earliest =
        turns ? ready + share(leg.wait) : std::max(ready, start + share(leg.hop));
    const CellClass cell = cell_class(s, pass);
    if (!place(cell, earliest)) return false;
    start = now_.start[cell];
    ready = start + stage.duration[pass] + (forward ? stage.to_after : stage.to_before);
  }
  now_.way = ready;
  for (std::uint32_t s = count; s-- > 0;) {
    const CellClass input = cell_class(s, SearchPass::input);
    const SearchTime end = now_.start[input] + problem_.stages[s].duration[SearchPass::input];
    if (!place(cell_class(s, SearchPass::weight), end)) return false;
  }
  now_.overflow = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) now_.overflow += overflow(rank);
  return true;
}

/// Bytes above the capacity at the highest point of the repetition.
std::int64_t PeriodFinder::overflow(std::uint32_t rank) const {
  std::int64_t highest = 0;
  for (const std::uint32_t at : stages_[rank]) {
    for (std::uint32_t pass = 0; pass < SearchPass::count; ++pass) {
      const CellClass cell = cell_class(at, pass);
      const SearchTime time = now_.start[cell];
      std::int64_t held = problem_.stages[at].during[pass];
      for (const std::uint32_t s : stages_[rank]) {
        for (std::uint32_t p = 0; p < SearchPass::count; ++p) {
          const CellClass other = cell_class(s, p);
          SearchTime begun = whole_periods(time - now_.start[other], now_.length) + 1;
          if (other == cell) --begun;
          held += begun * problem_.stages[s].change[p];
        }
      }
      highest = std::max(highest, held);
    }
  }
  return std::max<std::int64_t>(0, highest - problem_.capacity[rank]);
}

/// Draws the hops and waits of a leg, or of all of them with one hop.
void PeriodFinder::draw(std::vector<Leg>& legs, Draws& draws) const {
  const auto wait = [&] { return static_cast<double>(draws.below(waits)) / waits; };
  if (draws.one_in(3)) {
    const double hop = hops[draws.below(hops.size())];
    for (Leg& leg : legs) leg = {hop, wait()};
    return;
  }
  Leg& leg = legs[draws.below(legs.size())];
  if (draws.one_in(2)) leg.hop = hops[draws.below(hops.size())];
  leg.wait = wait();
}

Period PeriodFinder::find(SearchTime length, std::uint32_t steps, Draws& draws) {
  now_ = {.length = length,
          .start = std::vector<SearchTime>(problem_.stages.size() * SearchPass::count, 0)};
  Period best{.length = length};
  legs_.assign(legs_.size(), {});
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::vector<Leg> before = legs_;
    if (step > 0) draw(legs_, draws);
    if (place_all() && (best.start.empty() || !(best < now_))) {
      best = now_;
    } else {
      legs_ = before;
    }
  }
  return best;
}

std::vector<SearchTime> repeated_starts(const Period& period, std::uint32_t microbatches) {
  std::vector<SearchTime> starts;
  starts.reserve(period.start.size() * microbatches);
  for (const SearchTime start : period.start) {
    for (std::uint32_t m = 0; m < microbatches; ++m) starts.push_back(start + m * period.length);
  }
  return starts;
}

}  // namespace penstock
