#include "schedules/search/exhaustive.hpp"

#include <algorithm>

#include "schedules/search/bounds.hpp"

namespace penstock {
namespace {

class Branching {
 public:
  Branching(const OrderProblem& problem, SearchTime below, std::uint64_t nodes,
            const std::function<bool()>& go_on)
      : problem_(problem),
        tails_(shortest_tails(problem)),
        free_(problem.ranks(), 0),
        left_(work_by_rank(problem)),
        held_(problem.ranks(), 0),
        done_(problem.stages.size() * SearchPass::count, 0),
        end_(problem.cells(), never),
        sequences_(problem.ranks()),
        nodes_(nodes),
        go_on_(go_on) {
    result_.makespan = below;
  }

  ExhaustiveResult run() {
    visit({0, 0, 0, false}, problem_.cells());
    result_.complete = !stopped_;
    return std::move(result_);
  }

 private:
  /// A pass that can be the next one to start.
  struct Step {
    SearchTime start;
    std::uint32_t rank;
    CellClass cell;
    bool lasts;
  };

  /// When the input of the next pass of a class arrives; `never` before it is known.
  SearchTime arrival(CellClass cell) const {
    const std::uint32_t s = cell / SearchPass::count, pass = cell % SearchPass::count;
    const std::uint32_t m = done_[cell];
    const auto end = [&](CellClass of) {
      return end_[std::size_t{of} * problem_.microbatches + m];
    };
    if (pass == SearchPass::forward) {
      if (s == 0) return 0;
      const SearchTime before = end(cell_class(s - 1, SearchPass::forward));
      return before == never ? never : before + problem_.stages[s - 1].to_after;
    }
    const SearchTime own = end(cell - 1);
    if (pass == SearchPass::weight || own == never || s + 1 == problem_.stage_count()) return own;
    const SearchTime after = end(cell_class(s + 1, SearchPass::input));
    return after == never ? never : std::max(own, after + problem_.stages[s + 1].to_before);
  }

  std::vector<Step> steps(const Step& last) const {
    std::vector<Step> steps;
    for (CellClass cell = 0; cell < done_.size(); ++cell) {
      if (done_[cell] == problem_.microbatches) continue;
      const OrderStage& stage = problem_.stages[cell / SearchPass::count];
      const SearchTime at = arrival(cell);
      const std::uint32_t pass = cell % SearchPass::count;
      if (at == never || held_[stage.rank] + stage.during[pass] > problem_.capacity[stage.rank]) {
        continue;
      }
      const Step step{std::max(at, free_[stage.rank]), stage.rank, cell, stage.duration[pass] > 0};
      if (step.start < last.start) continue;
      // The same set of steps in another sequence; a pass without duration may enable others.
      if (step.start == last.start && step.rank < last.rank && last.lasts) continue;
      steps.push_back(step);
    }
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
      return a.start != b.start ? a.start < b.start : a.rank < b.rank;
    });
    return steps;
  }

  /// A makespan that nothing below this step can undercut.
  SearchTime bound(const Step& step) const {
    const OrderStage& stage = problem_.stages[step.cell / SearchPass::count];
    SearchTime bound =
        step.start + stage.duration[step.cell % SearchPass::count] + tails_[step.cell];
    for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
      bound = std::max(bound, std::max(free_[rank], step.start) + left_[rank]);
    }
    return bound;
  }

  void visit(const Step& last, std::size_t left) {
    if (left == 0) {
      result_.makespan = *std::max_element(free_.begin(), free_.end());
      result_.better = sequences_;
      return;
    }
    for (const Step& step : steps(last)) {
      if (nodes_ == 0 || (go_on_ && nodes_ % 1024 == 0 && !go_on_())) stopped_ = true;
      if (stopped_) return;
      --nodes_;
      if (bound(step) < result_.makespan) take(step, left);
    }
  }

  void take(const Step& step, std::size_t left) {
    const std::uint32_t pass = step.cell % SearchPass::count;
    const OrderStage& stage = problem_.stages[step.cell / SearchPass::count];
    const SearchTime free_before = free_[step.rank];
    SearchTime& end = end_[std::size_t{step.cell} * problem_.microbatches + done_[step.cell]++];
    end = free_[step.rank] = step.start + stage.duration[pass];
    left_[step.rank] -= stage.duration[pass];
    held_[step.rank] += stage.change[pass];
    sequences_[step.rank].push_back(step.cell);
    visit(step, left - 1);
    sequences_[step.rank].pop_back();
    held_[step.rank] -= stage.change[pass];
    left_[step.rank] += stage.duration[pass];
    free_[step.rank] = free_before;
    --done_[step.cell];
    end = never;
  }

  const OrderProblem& problem_;
  std::vector<SearchTime> tails_;
  std::vector<SearchTime> free_, left_;
  std::vector<std::int64_t> held_;
  std::vector<std::uint32_t> done_;
  std::vector<SearchTime> end_;  // by cell
  RankSequences sequences_;
  std::uint64_t nodes_;
  const std::function<bool()>& go_on_;
  bool stopped_ = false;
  ExhaustiveResult result_;
};

}  // namespace

ExhaustiveResult branch_and_bound(const OrderProblem& problem, SearchTime below,
                                  std::uint64_t nodes, const std::function<bool()>& go_on) {
  return Branching(problem, below, nodes, go_on).run();
}

}  // namespace penstock
