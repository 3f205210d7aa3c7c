#include "schedules/search/exhaustive.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "schedules/search/partial_order.hpp"

namespace penstock {
namespace {

/// A pass in one of its forms.
struct Work {
  std::uint32_t pass = 0;
  ActivationForm form = 0;
  bool leaves_weight = false;  // an I whose W is to come
  SearchTime duration = 0;
  std::int64_t during = 0, change = 0;
  StageTail tail = {};  // behind the last one of the stage
};

/// What a stage can run.
std::vector<Work> works_of(const OrderStage& stage) {
  std::vector<Work> works;
  const auto add = [&](std::uint32_t pass, ActivationForm form, bool leaves_weight) {
    const FormCosts costs = stage.costs(form);
    works.push_back({pass, form, leaves_weight, costs.duration[pass], costs.during[pass],
                     costs.change[pass], costs.tail});
  };
  add(SearchPass::forward, 0, false);
  if (stage.whole) add(SearchPass::input, whole_form, false);
  // A B that is no longer than I alone is better in every place.
  const bool split_may_pay =
      !stage.whole ||
      stage.whole->duration[SearchPass::input] > stage.duration[SearchPass::input] ||
      stage.whole->during[SearchPass::input] > stage.during[SearchPass::input];
  if (!split_may_pay) return works;
  add(SearchPass::input, 0, stage.splits);
  if (stage.splits) add(SearchPass::weight, 0, false);
  return works;
}

/// A step of a rank in the order of its starts.
struct Taken {
  std::uint32_t stage;
  const Work* work;
};

class Branching {
 public:
  Branching(const OrderProblem& problem, const ExhaustiveOptions& options)
      : problem_(problem),
        options_(options),
        order_(problem),
        bound_(problem),
        seen_(problem),
        taken_(problem.ranks()),
        nodes_(options.nodes) {
    result_.makespan = options.below;
    for (const OrderStage& stage : problem.stages) {
      works_.push_back(works_of(stage));
      left_ += std::uint64_t{problem.microbatches} * (stage.splits ? 3 : 2);
    }
  }

  ExhaustiveResult run() {
    visit();
    result_.complete = !stopped_;
    return std::move(result_);
  }

 private:
  /// A pass that can be the next one to start.
  struct Step {
    SearchTime start;
    std::uint32_t rank, stage;
    const Work* work;
  };

  std::size_t number(std::uint32_t stage, std::uint32_t microbatch) const {
    return std::size_t{stage} * problem_.microbatches + microbatch;
  }
  /// When the input of the next pass of a kind arrives; `never` before it is known.
  SearchTime arrival(std::uint32_t stage, std::uint32_t pass) const {
    const StageProgress& own = order_.stages[stage];
    const bool last = stage + 1 == problem_.stage_count();
    if (pass == SearchPass::forward) {
      const std::uint32_t m = own.forwards;
      if (m == problem_.microbatches) return never;
      if (stage == 0) return 0;
      if (order_.stages[stage - 1].forwards <= m) return never;
      return order_.forward_end[number(stage - 1, m)] + problem_.stages[stage - 1].to_after;
    }
    if (pass == SearchPass::weight) return own.pending > 0 ? 0 : never;
    const std::uint32_t m = own.gradients;
    if (m >= own.forwards) return never;
    if (last) return order_.forward_end[number(stage, m)] + problem_.stages[stage].to_after;
    if (order_.stages[stage + 1].gradients <= m) return never;
    return order_.gradient_end[number(stage + 1, m)] + problem_.stages[stage + 1].to_before;
  }

  std::vector<Step> steps() const {
    std::vector<Step> steps;
    for (std::uint32_t s = 0; s < works_.size(); ++s) {
      const std::uint32_t rank = problem_.stages[s].rank;
      for (const Work& work : works_[s]) {
        const SearchTime at = arrival(s, work.pass);
        const RankProgress& own = order_.ranks[rank];
        if (at == never || own.held + work.during > problem_.capacity[rank]) continue;
        const Step step{std::max(at, own.free), rank, s, &work};
        // The same set of steps in another sequence; a pass without duration may enable others.
        if (step.start < order_.floor(rank)) continue;
        steps.push_back(step);
      }
    }
    std::ranges::stable_sort(steps, [](const Step& a, const Step& b) {
      return a.start != b.start ? a.start < b.start : a.rank < b.rank;
    });
    return steps;
  }

  void visit() {
    if (left_ == 0) return finish();
    if (bound_.of(order_) >= result_.makespan) return;
    if (!options_.judge && seen_.covers(order_)) return;
    for (const Step& step : steps()) {
      if (!may_go_on()) {
        stopped_ = true;
        return;
      }
      take(step);
    }
  }

  /// Visits all that can follow a step.
  void take(const Step& step) {
    const StageProgress stage = order_.stages[step.stage];
    const RankProgress rank = order_.ranks[step.rank];
    const LastStep last = order_.last;
    const std::uint64_t left = left_;
    add(step);
    visit();
    left_ = left;
    taken_[step.rank].pop_back();
    order_.sum_of_starts -= step.start;
    order_.last = last;
    order_.ranks[step.rank] = rank;
    order_.stages[step.stage] = stage;
  }

  void add(const Step& step) {
    const Work& work = *step.work;
    StageProgress& own = order_.stages[step.stage];
    RankProgress& rank = order_.ranks[step.rank];
    const SearchTime end = rank.free = step.start + work.duration;
    rank.held += work.change;
    order_.last = {step.start, step.rank, work.duration > 0};
    order_.sum_of_starts += step.start;
    taken_[step.rank].push_back({step.stage, &work});
    --left_;
    if (work.pass == SearchPass::forward) {
      order_.forward_end[number(step.stage, own.forwards++)] = end;
    } else if (work.pass == SearchPass::weight) {
      --own.pending;
    } else {
      order_.gradient_end[number(step.stage, own.gradients++)] = end;
      own.pending += work.leaves_weight ? 1 : 0;
      if (problem_.stages[step.stage].splits && !work.leaves_weight) --left_;
    }
    if (own.gradients == problem_.microbatches && own.pending == 0) {
      rank.reduced = work.tail.reduced(end, rank.reduced);
      rank.ended = std::max(rank.ended, rank.reduced + work.tail.rest);
    }
  }

  void finish() {
    OrderWriter written(problem_);
    SearchTime makespan = 0;
    for (std::uint32_t rank = 0; rank < problem_.ranks(); ++rank) {
      const RankProgress& own = order_.ranks[rank];
      makespan = std::max({makespan, own.free + problem_.update(rank), own.ended});
      for (const Taken& step : taken_[rank]) {
        written.add(step.stage, step.work->pass, step.work->form);
      }
    }
    if (options_.judge) makespan = options_.judge(written.order);
    if (makespan >= result_.makespan) return;
    result_.makespan = makespan;
    result_.better = std::move(written.order);
  }

  bool may_go_on() {
    if (stopped_ || nodes_ == 0) return false;
    --nodes_;
    return !options_.go_on || nodes_ % nodes_of_evaluation != 0 || options_.go_on();
  }

  const OrderProblem& problem_;
  const ExhaustiveOptions& options_;
  std::vector<std::vector<Work>> works_;  // by stage
  PartialOrder order_;
  NodeBound bound_;
  SeenOrders seen_;
  std::vector<std::vector<Taken>> taken_;  // by rank
  std::uint64_t left_ = 0;                 // passes, counting a B as two
  std::uint64_t nodes_;
  bool stopped_ = false;
  ExhaustiveResult result_;
};

}  // namespace

ExhaustiveResult branch_and_bound(const OrderProblem& problem, const ExhaustiveOptions& options) {
  return Branching(problem, options).run();
}

}  // namespace penstock
