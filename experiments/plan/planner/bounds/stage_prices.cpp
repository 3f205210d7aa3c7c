#include "experiments/plan/planner/bounds/stage_prices.hpp"

#include <algorithm>

#include "experiments/run/layout/pipeline_ranks.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "experiments/run/layout/training.hpp"
#include "schedules/patterns/alternation.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/lower.hpp"

namespace penstock {
namespace {

/// Of each stage in the sample order.
constexpr std::uint32_t sample_cells = 2;

/// All kinds of cells that the order may have. A split order may have whole backwards too.
Schedule sample_order(const Placement& placement, bool splits) {
  const auto chains = static_cast<std::uint32_t>(placement.chains().size());
  return one_at_a_time(placement, sample_cells * chains, [&](Stage, Microbatch microbatch) {
    return splits && index(microbatch) < chains;
  });
}

/// Adds the price of one class to the times of its stage.
void take_class(const WorkClass& work, double duration_us, double latency_us, StageBounds& stage) {
  const double both_us = duration_us + latency_us;
  switch (work.pass) {
    case Pass::forward:
      stage.forward = duration_us;
      break;
    case Pass::backward:
      stage.backward = duration_us;
      break;
    case Pass::backward_input:
      stage.backward_input = duration_us;
      break;
    case Pass::backward_weight:
      stage.backward_weight = duration_us;
      break;
    case Pass::recompute:
      stage.again = duration_us;
      break;
    case Pass::send_activation:
      stage.send_forward = both_us;
      stage.occupies_forward = duration_us;
      break;
    case Pass::send_gradient:
      stage.send_backward = both_us;
      stage.occupies_backward = duration_us;
      break;
    default:
      break;
  }
}

/// What follows the last gradient of a stage, as the plan of the sample order has it: the longest
/// way over inputs alone, from its reduction, its update or its part of a tie.
void add_ways_to_the_end(const Plan& plan, const Costs& costs, std::vector<StageBounds>& all) {
  std::vector<double> way(plan.tasks());  // of each task to the end
  for (TaskId task = plan.tasks(); task-- > 0;) {
    const WorkClass& work = plan.class_of(task);
    if (!is_tail(work.pass) && work.pass != Pass::update) continue;
    StageBounds& stage = all[index(work.stage)];
    const double own_us = to_us(costs.duration_of(plan, task));
    if (work.pass == Pass::update) {
      stage.update = own_us;
      stage.gather = way[task];
    }
    way[task] += own_us + to_us(costs.latency_of(plan, task));
    plan.for_each_input(task, [&](TaskId input) { way[input] = std::max(way[input], way[task]); });
    const bool begins_later = work.pass != Pass::reduce_early && work.pass != Pass::gather_weights;
    if (begins_later) stage.after = std::max(stage.after, way[task]);
  }
}

/// How long reductions keep their links: those of every cell, and those of a step.
void add_sums(const Plan& plan, const Costs& costs, std::vector<StageBounds>& all) {
  std::vector<std::uint32_t> tasks(plan.classes.size());
  for (const std::uint32_t work : plan.work) ++tasks[work];
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    if (work.pass != Pass::reduce_gradient && work.pass != Pass::reduce_early) continue;
    StageBounds& stage = all[index(work.stage)];
    (tasks[c] < sample_cells ? stage.sums : stage.sums_each) += to_us(costs.duration[c]);
  }
}

std::vector<StageBounds> times_of(const Plan& plan, const Costs& costs) {
  std::vector<StageBounds> all(plan.model_stage.size());
  // Classes of the same pass and stage cost the same: a stage is on one rank.
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    take_class(plan.classes[c], to_us(costs.duration[c]), to_us(costs.latency[c]),
               all[index(plan.classes[c].stage)]);
  }
  add_ways_to_the_end(plan, costs, all);
  add_sums(plan, costs, all);
  return all;
}

/// What the layers of each stage use of the device.
void add_uses(const Layout& layout, const CutTimes& cut, std::vector<StageBounds>& all) {
  for (const Stage stage : layout.placement.stages()) {
    for (const LayerIndex layer : layout.partition.stages[layout.placement.position(stage)]) {
      add_use(cut.of(index(layer)).use, all[index(stage)].use);
    }
  }
}

/// The times of stages with the work of their layers alone, and the update.
std::vector<StageBounds> shared_times_of(const Layout& layout, const CutTimes& cut, double stretch,
                                         std::vector<StageBounds> all) {
  const bool again = layout.recompute.mode != RecomputeMode::none;
  for (const Stage stage : layout.placement.stages()) {
    StageBounds& own = all[index(stage)];
    LayerTimes sum;
    for (const LayerIndex layer : layout.partition.stages[layout.placement.position(stage)]) {
      const LayerTimes& one = cut.of(index(layer));
      for (std::size_t pass = 0; pass < sum.us.size(); ++pass) {
        sum.us[pass] = sum.us[pass].value_or(0) + one.us[pass].value_or(0) * stretch;
      }
    }
    const auto lower = [&](double& us, std::size_t pass) {
      us = std::min(us, sum.us[pass].value_or(0) * bound_rounding);
    };
    lower(own.forward, 0);
    lower(own.backward, 1);
    lower(own.backward_input, 2);
    lower(own.backward_weight, 3);
    own.again = again ? std::min(own.again, sum.us[4].value_or(0) * bound_rounding) : 0;
    own.after = own.update;
    own.sums = own.sums_each = own.gather = 0;
  }
  return all;
}

/// Adds what ranks and stages hold.
void add_memory(const Plan& plan, const Costs& costs, StagePrices& prices) {
  prices.held_bytes.resize(plan.ranks);
  const std::size_t stages = plan.model_stage.size();
  for (auto* list : {&prices.kept_bytes, &prices.input_bytes, &prices.pending_bytes,
                     &prices.workspace_bytes, &prices.recomputed_bytes}) {
    list->resize(stages);
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferClass& buffer = plan.buffers[b];
    const auto bytes = static_cast<double>(costs.bytes[b]);
    const std::uint32_t stage = index(buffer.stage);
    if (for_whole_run(buffer.kind)) prices.held_bytes[index(buffer.rank)] += bytes;
    if (buffer.kind == BufferKind::stash) prices.kept_bytes[stage] = bytes;
    if (buffer.kind == BufferKind::input_stash) prices.input_bytes[stage] = bytes;
    if (buffer.kind == BufferKind::pending_weight) prices.pending_bytes[stage] = bytes;
    if (buffer.kind == BufferKind::workspace) prices.workspace_bytes[stage] = bytes;
    if (buffer.kind == BufferKind::recomputed) prices.recomputed_bytes[stage] = bytes;
  }
}

/// What a rank holds throughout, and the activation of its largest stage while that is kept.
double least_bytes_of_ranks(const Placement& placement, const StagePrices& prices) {
  double most = 0;
  for (const Rank rank : Numbers<Rank>(placement.ranks())) {
    double kept = 0;
    for (const Stage stage : placement.stages_of(rank)) {
      kept = std::max(kept, prices.kept_bytes[index(stage)] + prices.workspace_bytes[index(stage)]);
    }
    most = std::max(most, prices.held_bytes[index(rank)] + kept);
  }
  return most;
}

}  // namespace

Layout placed_layout(const PlanBase& base, Layout layout, bool splits, const Placement& placement) {
  layout.placement = placement;
  layout.schedule = sample_order(placement, splits);
  layout.rule = nullptr;
  spread_ranks(base.scenario, layout);
  layout.spec = base.heads;
  layout.model = whole_model(base, layout.model);
  return layout;
}

StagePrices stage_prices(const Layout& layout, const OrderChoice& order, const CutTimes& cut,
                         const HardwareModel& hardware) {
  const Placement& placement = layout.placement;
  auto lowered = lower(layout.schedule, placement, Overlap::serial, extras_of(layout));
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) throw RuleError(text(*deadlock));
  const Plan& plan = std::get<Plan>(lowered);
  const KnownLayers known(hardware, layout.model, cut);
  const Training training = training_of(layout);
  const Costs costs = price(plan, layout.model, layout.partition, known, training);
  StagePrices prices;
  prices.times = times_of(plan, costs);
  if (order.fused) add_uses(layout, cut, prices.times);
  if (layout.memory.zero == 3) {
    prices.shared_times = shared_times_of(layout, cut, training.stretch, prices.times);
  }
  add_memory(plan, costs, prices);
  prices.least_bytes = least_bytes_of_ranks(placement, prices);
  prices.remakes = layout.recompute.mode != RecomputeMode::except_last && !order.joins &&
                   !order.splits && layout.recompute.mode != RecomputeMode::none;
  for (const Stage stage : placement.stages()) {
    const double bytes = prices.kept_bytes[index(stage)];
    prices.evict_us.push_back(
        hardware.transfer(bytes, placement.rank_of(stage), host_memory).occupies_us);
  }
  return prices;
}

}  // namespace penstock
