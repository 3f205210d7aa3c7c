#include "schedules/search/sequences.hpp"

#include <algorithm>

namespace penstock {

SequenceTimes::SequenceTimes(const OrderProblem& problem)
    : problem_(problem),
      microbatches_(problem.microbatches),
      duration_(problem.cells()),
      tail_(problem.stages.size()),
      links_(pass_links(problem)),
      done_(links_.size()),
      at_(problem.ranks()),
      free_(problem.ranks()),
      link_(problem.ranks()),
      start_(problem.cells()),
      latest_(problem.cells()),
      order_(problem.cells()) {
  for (std::uint32_t s = 0; s < problem.stage_count(); ++s) {
    const OrderStage& stage = problem.stages[s];
    tail_[s] = stage.tail;
    for (std::uint32_t pass = 0; pass < SearchPass::count; ++pass) {
      std::fill_n(duration_.begin() + std::ptrdiff_t{cell_class(s, pass)} * microbatches_,
                  microbatches_, stage.duration[pass]);
    }
  }
}

void SequenceTimes::set_form(std::uint32_t stage, std::uint32_t microbatch, ActivationForm form) {
  const FormCosts costs = problem_.stages[stage].costs(form);
  for (std::uint32_t pass = 0; pass < SearchPass::count; ++pass) {
    duration_[std::size_t{cell_class(stage, pass)} * microbatches_ + microbatch] =
        costs.duration[pass];
  }
  if (microbatch + 1 == microbatches_) tail_[stage] = costs.tail;
}

void SequenceTimes::set_forms(const ActivationForms& forms) {
  for (std::uint32_t s = 0; s < problem_.stage_count(); ++s) {
    for (std::uint32_t m = 0; m < microbatches_; ++m) {
      set_form(s, m, forms.empty() ? 0 : forms[std::size_t{s} * microbatches_ + m]);
    }
  }
}

/// What follows the last W of a stage, which ends then. That of a whole B has no length; where
/// another W runs behind the B, that is the last pass.
StageTail SequenceTimes::tail(CellClass cell, SearchTime end) const {
  const std::uint32_t s = cell / SearchPass::count;
  const OrderStage& stage = problem_.stages[s];
  const std::size_t last = std::size_t{cell} * microbatches_ + microbatches_ - 1;
  const std::size_t input = last - microbatches_;
  const bool behind =
      stage.splits && duration_[last] == 0 && start_[input] + duration_[input] < end;
  return behind ? stage.tail : tail_[s];
}

/// Runs a rank as far as its inputs have been timed; false at a fault of the sequence or beyond the
/// limit.
bool SequenceTimes::advance(std::uint32_t rank, const std::vector<CellClass>& sequence,
                            SearchTime limit) {
  SearchTime free = free_[rank];
  std::uint32_t at = at_[rank];
  const SearchTime most = limit;
  limit -= problem_.update(rank);
  for (; at < sequence.size(); ++at) {
    const CellClass cell = sequence[at];
    const std::uint32_t microbatch = done_[cell], pass = cell % SearchPass::count;
    SearchTime begin = free;
    if (pass != SearchPass::forward && done_[cell - 1] <= microbatch) return false;
    if (const CellClass from = links_[cell].source; from != no_class) {
      if (done_[from] <= microbatch) break;
      const std::size_t input = std::size_t{from} * microbatches_ + microbatch;
      begin = std::max(begin, start_[input] + duration_[input] + links_[cell].transfer);
    }
    if (pass == SearchPass::input) sum_of_starts_ += static_cast<double>(begin);
    const auto number = static_cast<std::uint32_t>(std::size_t{cell} * microbatches_ + microbatch);
    start_[number] = begin;
    free = begin + duration_[number];
    if (free > limit) return false;
    done_[cell] = microbatch + 1;
    if (pass == SearchPass::weight && done_[cell] == microbatches_) {
      const StageTail follows = tail(cell, free);
      link_[rank] = follows.reduced(free, link_[rank]);
      makespan_ = std::max(makespan_, link_[rank] + follows.rest);
      if (makespan_ > most) return false;
    }
    order_[timed_++] = number;
  }
  at_[rank] = at;
  free_[rank] = free;
  makespan_ = std::max(makespan_, free + problem_.update(rank));
  return true;
}

bool SequenceTimes::run(const RankSequences& sequences, SearchTime limit) {
  std::fill(done_.begin(), done_.end(), 0);
  std::fill(at_.begin(), at_.end(), 0);
  std::fill(free_.begin(), free_.end(), 0);
  std::fill(link_.begin(), link_.end(), 0);
  timed_ = 0;
  makespan_ = 0;
  sum_of_starts_ = 0;
  while (timed_ < order_.size()) {
    const std::size_t before = timed_;
    for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
      if (!advance(rank, sequences[rank], limit)) return false;
    }
    if (timed_ == before) return false;
  }
  for (const SearchTime end : free_) sum_of_starts_ += static_cast<double>(end);
  return true;
}

void SequenceTimes::find_latest() {
  std::vector<SearchTime>& end = free_;  // by rank: the start of what follows
  for (std::uint32_t rank = 0; rank < end.size(); ++rank) {
    end[rank] = makespan_ - problem_.update(rank);
    link_[rank] = never;
  }
  for (std::size_t n = order_.size(); n-- > 0;) {
    const std::uint32_t number = order_[n];
    const CellClass cell = number / microbatches_;
    const std::uint32_t microbatch = number % microbatches_;
    SearchTime& follows = end[problem_.stages[cell / SearchPass::count].rank];
    SearchTime last = follows;
    if (cell % SearchPass::count == SearchPass::weight && microbatch + 1 == microbatches_) {
      const StageTail tail_of = tail(cell, start_[number] + duration_[number]);
      SearchTime& reduced = link_[problem_.stages[cell / SearchPass::count].rank];
      reduced = std::min(reduced, makespan_ - tail_of.rest);
      last = std::min(last, reduced - (tail_of.whole - tail_of.rest));
      reduced -= tail_of.link;
    }
    if (const CellClass to = links_[cell].reader; to != no_class) {
      last = std::min(last,
                      latest_[std::size_t{to} * microbatches_ + microbatch] - links_[to].transfer);
    }
    follows = latest_[number] = last - duration_[number];
  }
}

std::vector<SearchTime> lengthened_starts(const OrderProblem& few,
                                          const std::vector<SearchTime>& starts,
                                          std::uint32_t microbatches, std::uint32_t at) {
  const auto work = work_by_rank(few);
  const SearchTime period = *std::ranges::max_element(work) / few.microbatches;
  const std::uint32_t more = microbatches - few.microbatches;
  std::vector<SearchTime> longer;
  longer.reserve(starts.size() / few.microbatches * microbatches);
  for (std::size_t first = 0; first < starts.size(); first += few.microbatches) {
    for (std::uint32_t m = 0; m < microbatches; ++m) {
      const std::uint32_t repeats = m <= at ? 0 : std::min(m - at, more);
      longer.push_back(starts[first + m - repeats] + SearchTime{repeats} * period);
    }
  }
  return longer;
}

RankSequences sequences_of_starts(const OrderProblem& problem,
                                  const std::vector<SearchTime>& starts) {
  struct Start {
    SearchTime time;
    CellClass cell;
  };
  std::vector<std::vector<Start>> by_rank(problem.ranks());
  for (std::size_t number = 0; number < starts.size(); ++number) {
    const auto cell = static_cast<CellClass>(number / problem.microbatches);
    by_rank[problem.stages[cell / SearchPass::count].rank].push_back({starts[number], cell});
  }
  RankSequences sequences(problem.ranks());
  for (std::uint32_t rank = 0; rank < problem.ranks(); ++rank) {
    std::ranges::stable_sort(by_rank[rank], {}, &Start::time);
    for (const Start& start : by_rank[rank]) sequences[rank].push_back(start.cell);
  }
  return sequences;
}

}  // namespace penstock
