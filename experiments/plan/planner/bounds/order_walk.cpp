#include "experiments/plan/planner/bounds/order_walk.hpp"

#include <algorithm>
#include <optional>

namespace penstock {
namespace {

constexpr std::size_t most_steps = 200'000;

/// Puts the actions of all ranks into an order in which they can run.
class Walker {
 public:
  Walker(const Schedule& schedule, const Placement& placement)
      : schedule_(schedule), placement_(placement), next_(schedule.ranks()) {
    std::size_t steps = 0;
    for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
      for (const Action& action : schedule.on(rank)) {
        if (action.pass > Pass::backward_weight) continue;
        ++steps;
        walk_.microbatches = std::max(walk_.microbatches, index(action.microbatch) + 1);
      }
    }
    if (steps > most_steps) return;
    walk_.steps.reserve(steps);
    done_.resize(std::size_t{placement.stage_count()} * walk_.microbatches);
  }

  OrderWalk result() {
    if (done_.empty()) return {};
    for (bool moves = true; moves;) {
      moves = false;
      for (const Rank rank : Numbers<Rank>(schedule_.ranks())) moves = advance(rank) || moves;
    }
    return std::move(walk_);
  }

 private:
  static constexpr std::uint8_t forward_done = 1, gradient_done = 2;

  std::uint8_t& done(Stage stage, Microbatch microbatch) {
    return done_[std::size_t{index(stage)} * walk_.microbatches + index(microbatch)];
  }
  bool ready(const Action& action) {
    if (action.pass == Pass::forward) {
      const auto last = placement_.before(action.stage);
      return !last || (done(*last, action.microbatch) & forward_done) != 0;
    }
    if (!gives_gradient(action.pass)) return true;
    const auto next = placement_.after(action.stage);
    return !next || (done(*next, action.microbatch) & gradient_done) != 0;
  }
  bool advance(Rank rank) {
    const std::vector<Action>& row = schedule_.on(rank);
    std::size_t& next = next_[index(rank)];
    const std::size_t before = next;
    for (; next < row.size(); ++next) {
      const Action& action = row[next];
      if (action.pass > Pass::backward_weight) continue;
      if (!ready(action)) break;
      if (action.pass == Pass::forward) done(action.stage, action.microbatch) |= forward_done;
      if (gives_gradient(action.pass)) done(action.stage, action.microbatch) |= gradient_done;
      walk_.steps.push_back(
          {action.pass, gives_gradient(action.pass), rank, action.stage, index(action.microbatch)});
    }
    return next > before;
  }

  const Schedule& schedule_;
  const Placement& placement_;
  std::vector<std::size_t> next_;   // by rank
  std::vector<std::uint8_t> done_;  // by stage and microbatch
  OrderWalk walk_;
};

/// The moments of an order at least.
class Clock {
 public:
  Clock(const OrderWalk& walk, const Placement& placement, const std::vector<StageBounds>& times,
        const OrderShape& shape)
      : walk_(walk),
        placement_(placement),
        times_(times),
        again_(!shape.joins && !shape.spares_last),
        early_(shape.early),
        rank_(placement.ranks()),
        last_(placement.stage_count()),
        forward_(std::size_t{placement.stage_count()} * walk.microbatches),
        gradient_(forward_.size()) {}

  double end() {
    for (const OrderWalk::Step& step : walk_.steps) run(step);
    double end = 0;
    for (const Stage stage : placement_.stages()) {
      if (last_[index(stage)] == 0) continue;
      end = std::max(end, last_[index(stage)] + times_[index(stage)].after);
    }
    return std::max(end, *std::max_element(rank_.begin(), rank_.end()));
  }

 private:
  std::size_t cell(Stage stage, std::uint32_t microbatch) const {
    return std::size_t{index(stage)} * walk_.microbatches + microbatch;
  }
  /// When the tensor that a step reads has come.
  double arrival(const OrderWalk::Step& step) const {
    if (step.pass == Pass::forward) {
      const auto from = placement_.before(step.stage);
      return from ? forward_[cell(*from, step.microbatch)] + times_[index(*from)].send_forward : 0;
    }
    if (!step.again) return 0;
    const auto from = placement_.after(step.stage);
    return from ? gradient_[cell(*from, step.microbatch)] + times_[index(*from)].send_backward : 0;
  }
  double length(const OrderWalk::Step& step) const {
    const StageBounds& own = times_[index(step.stage)];
    if (step.pass == Pass::forward) return own.forward;
    if (step.pass == Pass::backward_weight) return own.backward_weight;
    return step.pass == Pass::backward ? own.backward : own.backward_input;
  }
  void run(const OrderWalk::Step& step) {
    double& free = rank_[index(step.rank)];
    const double again = step.again && again_ ? times_[index(step.stage)].again : 0;
    const double came = arrival(step);
    const double begin = early_ ? std::max(free + again, came) : std::max(free, came) + again;
    free = begin + length(step);
    if (step.pass == Pass::forward) forward_[cell(step.stage, step.microbatch)] = free;
    if (step.again) gradient_[cell(step.stage, step.microbatch)] = free;
    if (ends_activation(step.pass)) last_[index(step.stage)] = free;
  }

  const OrderWalk& walk_;
  const Placement& placement_;
  const std::vector<StageBounds>& times_;
  bool again_, early_;
  std::vector<double> rank_, last_;  // by rank; by stage: its last weight gradient
  std::vector<double> forward_, gradient_;
};

}  // namespace

OrderWalk walk_of(const Schedule& schedule, const Placement& placement) {
  return Walker(schedule, placement).result();
}

double walked_us(const OrderWalk& walk, const Placement& placement,
                 const std::vector<StageBounds>& times, const OrderShape& shape) {
  return walk.steps.empty() ? 0 : Clock(walk, placement, times, shape).end();
}

}  // namespace penstock
