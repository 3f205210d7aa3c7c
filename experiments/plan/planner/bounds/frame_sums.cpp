#include <algorithm>
#include <limits>
#include <numeric>

#include "experiments/plan/planner/bounds/frames.hpp"
#include "experiments/run/layout/training.hpp"

namespace penstock {
namespace {

/// A price in microseconds at least: each is rounded to a picosecond.
void round_down(double& us) {
  constexpr double half_a_picosecond = 5e-7;
  us = std::max(0.0, us - half_a_picosecond);
}

/// What is kept at a ZeRO level. A gradient that is not kept still travels.
Training kept_at(const DeviceMemory& memory, std::uint32_t zero, bool whole_gradients) {
  return {.gradient_factor = memory.kept.gradient > 0 ? memory.kept.gradient_factor() : 0,
          .optimizer_factor = memory.kept.optimizer_factor(),
          .zero = zero,
          .whole_gradients = whole_gradients};
}

/// Adds a layer whose parameters `holders` ranks hold.
void add_layer(const LayerTimes& layer, double holders, KeptParameters& sum) {
  KeptParameters own;
  for (const SharedParameters& one : layer.parameters) {
    own.whole += one.bytes;
    own.share += one.bytes * one.spread / (one.copies * holders);
  }
  sum.whole += own.whole;
  sum.share += own.share;
}

}  // namespace

/// The equal part of each rank of the work of all layers, without recomputation.
double LayoutFrames::work_us(const LayoutFrame& frame, std::uint32_t zero) const {
  const std::vector<LayerTimes>* layers = times(frame, zero);
  if (layers == nullptr) return 0;
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const OrderChoice& order = *groups_[frame.group].like;
  double forward = 0, backward = 0;
  DeviceUse use;
  for (const std::uint32_t number : base_.reduced_layer) {
    const auto& pass = (*layers)[number].us;
    const double whole = pass[1].value_or(0);
    forward += pass[0].value_or(0);
    backward += std::min(whole, pass[2].value_or(whole) + pass[3].value_or(0));
    for (const DeviceUse& one : (*layers)[number].use) use += one;
  }
  const double stretch = stretch_of_frame(frame, zero);
  const double us = order.fused ? std::max({forward * stretch, backward * stretch, use.compute_us,
                                            use.memory_us, use.network_us})
                                : (forward + backward) * stretch;
  const double cells = double(degrees.microbatches) * order.slices;
  return bound_rounding * us * cells / degrees.pipeline;
}

/// Parameters, gradients and optimizer state of the mean rank, at the level that needs the least.
double LayoutFrames::mean_bytes(const LayoutFrame& frame) const {
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const double data = degrees.data / static_cast<double>(base_.task.shard_groups);
  KeptParameters all;
  for (const std::uint32_t number : base_.reduced_layer) {
    add_layer((*times(frame, space_.zeros.back()))[number], data, all);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t zero : space_.zeros) {
    least = std::min(least, all.state(kept_at(base_.settled.memory, zero, false)));
  }
  return std::max(0.0, fixed_bytes() + bound_rounding * least / degrees.pipeline);
}

/// What a rank holds besides the parameters of its layers, less what two of them share.
double LayoutFrames::fixed_bytes() const {
  const Training kept = kept_at(base_.settled.memory, 0, false);
  return base_.settled.memory.context_bytes -
         shared_bytes_ * (1 + kept.gradient_factor + kept.optimizer_factor);
}

double LayoutFrames::stretch_of_frame(const LayoutFrame& frame, std::uint32_t zero) const {
  return stretch_of(stacks_[runs_sharded(zero) ? 1 : 0].constants,
                    space_.degrees[frame.degrees].data);
}

/// Sums of layers, as long as many replicas make them, and the update.
std::vector<StageBounds> LayoutFrames::stage_times(const LayoutFrame& frame,
                                                   const Placement& placement,
                                                   const std::vector<std::uint32_t>& stage_of,
                                                   std::uint32_t zero) const {
  const CutTimes cut = cut_times(frame, stage_of, zero);
  const OfStack& stack = stacks_[runs_sharded(zero) ? 1 : 0];
  const double stretch = stretch_of_frame(frame, zero);
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  std::vector<StageBounds> sums(stages);
  const bool again = space_.recomputations[frame.recomputation].mode != "none";
  for (std::size_t i = 0; i < base_.reduced_layer.size(); ++i) {
    const LayerTimes& layer = cut.of(i);
    StageBounds& sum = sums[stage_of[i]];
    add_use(layer.use, sum.use);
    sum.forward += layer.us[0].value_or(0);
    sum.backward += layer.us[1].value_or(0);
    sum.backward_input += layer.us[2].value_or(0);
    sum.backward_weight += layer.us[3].value_or(0);
    if (again) sum.again += layer.us[4].value_or(0);
  }
  for (StageBounds& sum : sums) {
    for (double* us :
         {&sum.forward, &sum.backward, &sum.backward_input, &sum.backward_weight, &sum.again}) {
      *us *= stretch;
      round_down(*us);
    }
  }
  std::vector<StageBounds> times;
  for (const Stage stage : placement.stages()) {
    StageBounds& own = times.emplace_back(sums[placement.position(stage)]);
    const bool lowest = placement.stages_of(placement.rank_of(stage)).front() == stage;
    own.update = stack.update_us + (lowest ? stack.step_us : 0);
    round_down(own.update);
    own.after = own.update;
  }
  return times;
}

/// Parameters of the stages, whole and the shares of a replica.
std::vector<KeptParameters> LayoutFrames::weights_of(const LayoutFrame& frame,
                                                     const Placement& placement,
                                                     const std::vector<std::uint32_t>& stage_of,
                                                     std::uint32_t zero) const {
  const std::vector<LayerTimes>& layers = *times(frame, zero);
  const double holders = space_.degrees[frame.degrees].data *
                         static_cast<double>(placement.chains().size()) / base_.task.shard_groups;
  std::vector<KeptParameters> weights(placement.chains().front().size());
  for (std::size_t i = 0; i < base_.reduced_layer.size(); ++i) {
    add_layer(layers[base_.reduced_layer[i]], holders, weights[stage_of[i]]);
  }
  return weights;
}

/// Parameters, gradients and optimizer state by rank.
std::vector<double> LayoutFrames::held_bytes(const LayoutFrame& frame, const Placement& placement,
                                             const std::vector<KeptParameters>& weights,
                                             std::uint32_t zero) const {
  const DeviceMemory& memory = base_.settled.memory;
  const bool whole = keeps_whole_gradients(memory, zero, placement.ranks(),
                                           space_.degrees[frame.degrees].microbatches);
  const Training kept = kept_at(memory, zero, whole);
  // Each buffer is rounded to a byte: one of a rank, three of a stage.
  std::vector<double> held(placement.ranks(), fixed_bytes() - 0.5);
  for (const Stage stage : placement.stages()) {
    held[index(placement.rank_of(stage))] += weights[placement.position(stage)].state(kept) - 1.5;
  }
  return held;
}

/// What the fullest rank holds throughout at a ZeRO level; the mean where the cut is not known.
void LayoutFrames::judge_memory(const std::vector<std::uint32_t>& stage_of, std::uint32_t zero,
                                LayoutFrame& frame) const {
  const auto largest = base_.settled.memory.largest_peak_bytes();
  const Placement& ranks = *placement(frame.group, space_.degrees[frame.degrees].pipeline);
  const std::vector<double> held =
      held_bytes(frame, ranks, weights_of(frame, ranks, stage_of, zero), zero);
  const double needed = frame.has_cut() ? *std::max_element(held.begin(), held.end())
                                        : std::accumulate(held.begin(), held.end(), 0.0) /
                                              static_cast<double>(held.size());
  frame.least_bytes = std::min(frame.least_bytes, needed);
  if (largest && needed > static_cast<double>(*largest)) return;
  frame.may_fit |= static_cast<std::uint8_t>(1U << zero);
}

/// What cells keep. A whole stage that is recomputed keeps the input of its first layer.
void LayoutFrames::add_kept(const LayoutFrame& frame, const Placement& placement,
                            const std::vector<std::uint32_t>& stage_of, std::uint32_t zero,
                            StagePrices& prices) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  const CutTimes cut = cut_times(frame, stage_of, zero);
  const RecomputeChoice& recompute = space_.recomputations[frame.recomputation];
  const bool inputs = recompute.stages || recompute.mode == "except_last";
  const bool splits = groups_[frame.group].like->splits;
  std::vector<LayerTimes> sums(stages);
  for (std::size_t i = 0; i < base_.reduced_layer.size(); ++i) {
    const LayerTimes& layer = cut.of(i);
    LayerTimes& sum = sums[stage_of[i]];
    const bool first = i == 0 || stage_of[i] != stage_of[i - 1];
    if (first || !inputs) {
      sum.kept_bytes += layer.kept_bytes;
      if (splits) sum.freed_bytes += layer.freed_bytes;
    }
    if (splits) sum.pending_bytes += layer.pending_bytes;
    sum.workspace_bytes = std::max(sum.workspace_bytes, layer.workspace_bytes);
  }
  for (const Stage stage : placement.stages()) {
    const LayerTimes& sum = sums[placement.position(stage)];
    const auto rounded_down = [](double bytes) { return std::max(0.0, bytes - 0.5); };
    prices.kept_bytes.push_back(rounded_down(sum.kept_bytes - sum.freed_bytes));
    prices.input_bytes.push_back(rounded_down(sum.freed_bytes));
    prices.pending_bytes.push_back(rounded_down(sum.pending_bytes));
    prices.workspace_bytes.push_back(rounded_down(sum.workspace_bytes));
  }
}

std::vector<LayoutFrames::LayerPrices> LayoutFrames::layer_prices(const LayoutFrame& frame) const {
  const Placement& ranks = *placement(frame.group, space_.degrees[frame.degrees].pipeline);
  std::vector<LayerPrices> stacks;
  const std::vector<LayerTimes>* last = nullptr;
  std::vector<KeptParameters> weights;
  for (const std::uint32_t zero : space_.zeros) {
    if (!takes_zero(base_.task, space_.degrees[frame.degrees], *groups_[frame.group].like, zero)) {
      continue;
    }
    const std::vector<LayerTimes>* layers = times(frame, zero);
    if (layers != last) {
      const std::vector<std::uint32_t> stage_of = stages_of_layers(frame, ranks, zero);
      stacks.push_back({{.times = stage_times(frame, ranks, stage_of, zero)}, {}, {}});
      add_kept(frame, ranks, stage_of, zero, stacks.back().prices);
      weights = weights_of(frame, ranks, stage_of, zero);
    }
    last = layers;
    stacks.back().levels.push_back(zero);
    stacks.back().held_bytes.push_back(held_bytes(frame, ranks, weights, zero));
  }
  return stacks;
}

}  // namespace penstock
