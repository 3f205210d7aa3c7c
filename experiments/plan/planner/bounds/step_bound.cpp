#include "experiments/plan/planner/bounds/step_bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace penstock {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Bounds of the parts of a step.
class StepParts {
 public:
  StepParts(const Placement& placement, const std::vector<StageBounds>& times,
            const OrderShape& shape)
      : placement_(placement),
        times_(times),
        shape_(shape),
        before_(times.size()),
        after_(times.size()) {
    for (const std::vector<Stage>& chain : placement.chains()) walk(chain);
  }

  double of_rank(Rank rank) const;
  double of_links() const;

 private:
  void walk(const std::vector<Stage>& chain);
  double cell(const StageBounds& stage) const;
  double backward(const StageBounds& stage) const;
  double work_of(Rank rank) const;

  const Placement& placement_;
  const std::vector<StageBounds>& times_;
  const OrderShape& shape_;
  std::vector<double> before_;  // by stage: forwards and transfers before its first
  std::vector<double> after_;   // by stage: backwards and transfers after its last
};

/// The shortest backward that the order may use.
double StepParts::backward(const StageBounds& stage) const {
  if (!shape_.splits) return stage.backward;
  return std::min(stage.backward, stage.backward_input + stage.backward_weight);
}

void StepParts::walk(const std::vector<Stage>& chain) {
  double before = 0, after = 0;
  for (const Stage stage : chain) {
    const StageBounds& own = times_[index(stage)];
    before_[index(stage)] = before;
    before += own.forward + own.send_forward;
    if (shape_.splits) continue;
    if (stage != chain.front()) after += own.send_backward;
    after_[index(stage)] = after;
    const bool again = !shape_.joins && !shape_.spares_last && !shape_.early;
    after += own.backward + (again ? own.again : 0);
  }
}

/// All work of one cell of a stage, as often as each cell has it. Each chain has a last microbatch.
double StepParts::cell(const StageBounds& stage) const {
  const double last = static_cast<double>(placement_.chains().size());
  const double spared = shape_.spares_last ? last / shape_.cells : 0;
  const double again = stage.again * std::max(0.0, 1 - spared);
  const double hidden = shape_.joins && shape_.gathers ? std::min(again, backward(stage)) : 0;
  return stage.forward + backward(stage) + again - hidden;
}

/// Of a rank's cells. Chains share the microbatches in an unknown way.
double StepParts::work_of(Rank rank) const {
  double least = never;
  for (std::uint32_t chain = 0; chain < placement_.chains().size(); ++chain) {
    double work = 0;
    for (const Stage stage : placement_.stages_of(rank)) {
      if (placement_.chain_of(stage) == chain) work += cell(times_[index(stage)]);
    }
    least = std::min(least, work);
  }
  return least * shape_.cells;
}

double StepParts::of_rank(Rank rank) const {
  // Chains share the cells in an unknown way.
  const double cells = placement_.chains().size() == 1 ? shape_.cells : 1;
  double head = never, tail = never, own_end = never, gather = never, update = 0, sums = 0;
  for (const Stage stage : placement_.stages_of(rank)) {
    const StageBounds& own = times_[index(stage)];
    const Stage first = placement_.chains()[placement_.chain_of(stage)].front();
    head = std::min(head, before_[index(stage)]);
    tail = std::min(tail, shape_.splits ? 0 : after_[index(stage)] + times_[index(first)].after);
    own_end = std::min(own_end, own.after);
    gather = std::min(gather, own.gather);
    update += own.update;
    sums += own.sums + own.sums_each * cells;
  }
  if (head == never) return 0;
  const double work = work_of(rank);
  const double after = std::max({tail, own_end, update + gather});
  return head + std::max(work + after, sums + gather);
}

/// A link sends one tensor after the other.
double StepParts::of_links() const {
  const bool free = std::all_of(times_.begin(), times_.end(), [](const StageBounds& own) {
    return own.occupies_forward == 0 && own.occupies_backward == 0;
  });
  if (free || placement_.chains().size() > 1) return 0;
  std::map<std::pair<Rank, Rank>, double> sums;
  for (const Stage stage : placement_.stages()) {
    const StageBounds& own = times_[index(stage)];
    const Rank here = placement_.rank_of(stage);
    if (const auto next = placement_.after(stage)) {
      sums[{here, placement_.rank_of(*next)}] += own.occupies_forward;
    }
    if (const auto last = placement_.before(stage)) {
      sums[{here, placement_.rank_of(*last)}] += own.occupies_backward;
    }
  }
  double most = 0;
  for (const auto& [ends, sum] : sums) most = std::max(most, sum * shape_.cells);
  return most;
}

}  // namespace

double step_bound_us(const Placement& placement, const std::vector<StageBounds>& times,
                     const OrderShape& shape) {
  const StepParts parts(placement, times, shape);
  double bound = parts.of_links();
  for (const Rank rank : Numbers<Rank>(placement.ranks())) {
    bound = std::max(bound, parts.of_rank(rank));
  }
  return bound;
}

}  // namespace penstock
