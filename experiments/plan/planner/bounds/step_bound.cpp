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

  double of_rank(Rank rank) const {
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
  double of_links() const {
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

 private:
  void walk(const std::vector<Stage>& chain) {
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

  /// The backward of one cell of a stage with its recomputation, as often as each cell has it. Each
  /// chain has a last microbatch.
  double back(const StageBounds& stage) const {
    const double last = static_cast<double>(placement_.chains().size());
    const double spared = shape_.spares_last ? last / shape_.cells : 0;
    const double again = stage.again * std::max(0.0, 1 - spared);
    const double hidden = shape_.joins && shape_.gathers ? std::min(again, backward(stage)) : 0;
    return backward(stage) + again - hidden;
  }

  /// The shortest backward that the order may use.
  double backward(const StageBounds& stage) const {
    if (!shape_.splits) return stage.backward;
    return std::min(stage.backward, stage.backward_input + stage.backward_weight);
  }

  static DeviceUse both(const StageBounds& stage) {
    DeviceUse sum = stage.use[0];
    sum += stage.use[1];
    return sum;
  }

  /// The sum of a rank's stages. Chains share the microbatches in an unknown way.
  template <class Of>
  double least_sum(Rank rank, Of of) const {
    double least = never;
    for (std::uint32_t chain = 0; chain < placement_.chains().size(); ++chain) {
      double sum = 0;
      for (const Stage stage : placement_.stages_of(rank)) {
        if (placement_.chain_of(stage) == chain) sum += of(times_[index(stage)]);
      }
      least = std::min(least, sum);
    }
    return least;
  }

  /// Of a rank's cells. The two parts of a fused cell share what each needs of the device.
  double work_of(Rank rank) const {
    using Bounds = const StageBounds&;
    if (!shape_.fused) {
      return shape_.cells *
             least_sum(rank, [this](Bounds stage) { return stage.forward + back(stage); });
    }
    return shape_.cells *
           std::max({least_sum(rank, [](Bounds stage) { return stage.forward; }),
                     least_sum(rank, [this](Bounds stage) { return back(stage); }),
                     least_sum(rank, [](Bounds stage) { return both(stage).compute_us; }),
                     least_sum(rank, [](Bounds stage) { return both(stage).memory_us; }),
                     least_sum(rank, [](Bounds stage) { return both(stage).network_us; })});
  }

  const Placement& placement_;
  const std::vector<StageBounds>& times_;
  const OrderShape& shape_;
  std::vector<double> before_;  // by stage: forwards and transfers before its first
  std::vector<double> after_;   // by stage: backwards and transfers after its last
};

constexpr std::size_t most_steps = 400'000;

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
  void add(Rank rank, const Action& action, bool joined) {
    if (action.pass == Pass::forward) done(action.stage, action.microbatch) |= forward_done;
    const bool gives = gives_gradient(action.pass);
    if (gives) done(action.stage, action.microbatch) |= gradient_done;
    walk_.steps.push_back(
        {action.pass, gives, joined, rank, action.stage, index(action.microbatch)});
  }
  /// The two parts of an overlap cell begin together.
  bool advance(Rank rank) {
    const std::vector<Action>& row = schedule_.on(rank);
    std::size_t& next = next_[index(rank)];
    const std::size_t before = next;
    for (; next < row.size(); ++next) {
      const Action& action = row[next];
      if (action.pass > Pass::backward_weight) continue;
      const bool joined = action.with_next && next + 1 < row.size();
      if (!ready(action) || (joined && !ready(row[next + 1]))) break;
      add(rank, action, joined);
      if (joined) add(rank, row[++next], false);
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
        fused_(shape.fused),
        rank_(placement.ranks()),
        last_(placement.stage_count()),
        forward_(std::size_t{placement.stage_count()} * walk.microbatches),
        gradient_(forward_.size()) {}

  double end() {
    for (std::size_t i = 0; i < walk_.steps.size(); ++i) {
      const OrderWalk::Step& step = walk_.steps[i];
      if (!step.joined) {
        run(step, arrival(step));
        continue;
      }
      const OrderWalk::Step& next = walk_.steps[++i];
      const double came = std::max(arrival(step), arrival(next));
      if (fused_) {
        run_fused(step, next, came);
      } else {
        run(step, came);
        run(next, came);
      }
    }
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
  void run(const OrderWalk::Step& step, double came) {
    double& free = rank_[index(step.rank)];
    const double again = step.again && again_ ? times_[index(step.stage)].again : 0;
    const double begin = early_ ? std::max(free + again, came) : std::max(free, came) + again;
    free = begin + length(step);
    finish(step, free);
  }
  void finish(const OrderWalk::Step& step, double end) {
    if (step.pass == Pass::forward) forward_[cell(step.stage, step.microbatch)] = end;
    if (step.again) gradient_[cell(step.stage, step.microbatch)] = end;
    if (ends_activation(step.pass)) last_[index(step.stage)] = end;
  }
  /// What a step needs of the device at least; of I and W alone nothing is known.
  DeviceUse use(const OrderWalk::Step& step) const {
    const StageBounds& own = times_[index(step.stage)];
    if (step.pass == Pass::forward) return own.use[0];
    return step.pass == Pass::backward ? own.use[1] : DeviceUse{};
  }
  void run_fused(const OrderWalk::Step& one, const OrderWalk::Step& other, double came) {
    DeviceUse both = use(one);
    both += use(other);
    double& free = rank_[index(one.rank)];
    free = std::max(free, came) +
           std::max({length(one), length(other), both.compute_us, both.memory_us, both.network_us});
    finish(one, free);
    finish(other, free);
  }

  const OrderWalk& walk_;
  const Placement& placement_;
  const std::vector<StageBounds>& times_;
  bool again_, early_, fused_;
  std::vector<double> rank_, last_;  // by rank; by stage: its last weight gradient
  std::vector<double> forward_, gradient_;
};

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

OrderWalk walk_of(const Schedule& schedule, const Placement& placement) {
  return Walker(schedule, placement).result();
}

double walked_us(const OrderWalk& walk, const Placement& placement,
                 const std::vector<StageBounds>& times, const OrderShape& shape) {
  return walk.steps.empty() ? 0 : Clock(walk, placement, times, shape).end();
}

}  // namespace penstock
