#include "schedules/search/greedy_run.hpp"

#include <algorithm>

namespace penstock {

GreedyRun::GreedyRun(const OrderProblem& problem, TimeDirection direction)
    : problem_(problem),
      microbatches_(problem.microbatches),
      has_tail_(direction == TimeDirection::forwards),
      work_(problem.stages.size() * SearchPass::count),
      stages_(stages_by_rank(problem)),
      free_(problem.ranks()),
      link_(problem.ranks()),
      held_(problem.ranks()),
      next_(problem.ranks()),
      done_(work_.size()),
      arrival_(problem.cells()),
      start_(problem.cells()),
      all_work_(work_and_updates(problem)),
      sequence_(problem.ranks()) {
  const bool forwards = direction == TimeDirection::forwards;
  const std::vector<PassLinks> links = pass_links(problem, direction);
  for (std::uint32_t s = 0; s < problem.stage_count(); ++s) {
    const OrderStage& stage = problem.stages[s];
    const CellClass f = cell_class(s, SearchPass::forward), i = f + SearchPass::input,
                    w = f + SearchPass::weight;
    for (std::uint32_t pass = 0; pass < SearchPass::count; ++pass) {
      Work& work = work_[f + pass];
      work.rank = stage.rank;
      work.duration = stage.duration[pass];
      work.change = forwards ? stage.change[pass] : -stage.change[pass];
      work.during = forwards ? stage.during[pass] : stage.during[pass] - stage.change[pass];
      work.links = links[f + pass];
    }
    work_[w].tail = stage.tail;
    work_[forwards ? i : f].behind = forwards ? f : i;
    work_[forwards ? w : i].behind = forwards ? i : w;
    sequence_[stage.rank].reserve(sequence_[stage.rank].capacity() +
                                  std::size_t{SearchPass::count} * microbatches_);
  }
}

void GreedyRun::begin() {
  std::fill(free_.begin(), free_.end(), 0);
  std::fill(link_.begin(), link_.end(), 0);
  std::fill(held_.begin(), held_.end(), 0);
  std::fill(done_.begin(), done_.end(), 0);
  for (CellClass cell = 0; cell < work_.size(); ++cell) {
    std::fill_n(arrival_.begin() + std::ptrdiff_t{cell} * microbatches_, microbatches_,
                work_[cell].links.source == no_class ? 0 : never);
  }
  left_ = all_work_;
  for (auto& sequence : sequence_) sequence.clear();
  makespan_ = 0;
  sum_of_starts_ = 0;
}

std::uint32_t GreedyRun::earliest_rank() const {
  const auto first = std::ranges::min_element(next_, {}, &Next::start);
  return static_cast<std::uint32_t>(first - next_.begin());
}

/// Starts what a rank has chosen. Returns the rank that waits for what it puts out, or this one.
std::uint32_t GreedyRun::start(std::uint32_t rank, const Next& next) {
  const CellClass cell = next.cell;
  const Work& work = work_[cell];
  const std::uint32_t microbatch = done_[cell]++;
  const SearchTime end = next.start + work.duration;
  start_[number(cell, microbatch)] = next.start;
  sequence_[rank].push_back(cell);
  free_[rank] = end;
  held_[rank] += work.change;
  left_[rank] -= work.duration;
  makespan_ = std::max(makespan_, end + left_[rank]);
  if (has_tail_ && microbatch + 1 == microbatches_ &&
      cell % SearchPass::count == SearchPass::weight) {
    link_[rank] = work.tail.reduced(end, link_[rank]);
    makespan_ = std::max(makespan_, link_[rank] + work.tail.rest);
  }
  if (cell % SearchPass::count == SearchPass::input) {
    sum_of_starts_ += static_cast<double>(next.start);
  }
  const CellClass reader = work.links.reader;
  if (reader == no_class) return rank;
  arrival_[number(reader, microbatch)] = end + work_[reader].links.transfer;
  return done_[reader] == microbatch ? work_[reader].rank : rank;
}

}  // namespace penstock
