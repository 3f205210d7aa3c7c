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

/// What is kept for each byte of parameters.
struct KeptFactors {
  double gradient = 0;
  double optimizer = 0;

  double sum() const { return 1 + gradient + optimizer; }
  /// Of parameters at a ZeRO level; `share` is that of a replica.
  double bytes(std::uint32_t zero, double whole, double share, bool whole_gradients) const {
    const auto from = [&](std::uint32_t level) { return zero >= level ? share : whole; };
    return from(3) + (whole_gradients ? whole : from(2)) * gradient + from(1) * optimizer;
  }
};

/// A gradient that is not kept still travels.
KeptFactors kept_factors(const DeviceMemory& memory) {
  return {memory.kept.gradient > 0 ? memory.kept.gradient_factor() : 0,
          memory.kept.optimizer_factor()};
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
  LayerTimes whole, share;
  for (const std::uint32_t number : base_.reduced_layer) {
    const LayerTimes& layer = (*times(frame, space_.zeros.back()))[number];
    whole.dense_bytes += layer.dense_bytes + layer.expert_bytes;
    share.dense_bytes += layer.dense_bytes / (layer.copies * data) +
                         layer.expert_bytes * layer.expert_spread / (layer.expert_copies * data);
  }
  const KeptFactors kept = kept_factors(base_.settled.memory);
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t zero : space_.zeros) {
    least = std::min(least, kept.bytes(zero, whole.dense_bytes, share.dense_bytes, false));
  }
  const double fixed = base_.settled.memory.context_bytes - shared_bytes_ * kept.sum();
  return std::max(0.0, fixed + bound_rounding * least / degrees.pipeline);
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
    sum.update = sum.after = stack.update_us;
    round_down(sum.update);
    round_down(sum.after);
  }
  std::vector<StageBounds> times;
  for (const Stage stage : placement.stages()) times.push_back(sums[placement.position(stage)]);
  return times;
}

/// Parameters of the stages, whole and the shares of a replica.
LayoutFrames::StageWeights LayoutFrames::weights_of(const LayoutFrame& frame,
                                                    const Placement& placement,
                                                    const std::vector<std::uint32_t>& stage_of,
                                                    std::uint32_t zero) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  const std::vector<LayerTimes>& layers = *times(frame, zero);
  const double holders = space_.degrees[frame.degrees].data *
                         static_cast<double>(placement.chains().size()) / base_.task.shard_groups;
  StageWeights weights{std::vector<double>(stages), std::vector<double>(stages)};
  for (std::size_t i = 0; i < base_.reduced_layer.size(); ++i) {
    const LayerTimes& layer = layers[base_.reduced_layer[i]];
    weights.whole[stage_of[i]] += layer.dense_bytes + layer.expert_bytes;
    weights.share[stage_of[i]] +=
        layer.dense_bytes / (layer.copies * holders) +
        layer.expert_bytes * layer.expert_spread / (layer.expert_copies * holders);
  }
  return weights;
}

/// Parameters, gradients and optimizer state by rank.
std::vector<double> LayoutFrames::held_bytes(const LayoutFrame& frame, const Placement& placement,
                                             const StageWeights& weights,
                                             std::uint32_t zero) const {
  const DeviceMemory& memory = base_.settled.memory;
  const KeptFactors kept = kept_factors(memory);
  // Each buffer is rounded to a byte: one of a rank, three of a stage.
  const double fixed = memory.context_bytes - shared_bytes_ * kept.sum() - 0.5;
  const bool whole = keeps_whole_gradients(memory, zero, placement.ranks(),
                                           space_.degrees[frame.degrees].microbatches);
  std::vector<double> held(placement.ranks(), fixed);
  for (const Stage stage : placement.stages()) {
    const std::uint32_t at = placement.position(stage);
    held[index(placement.rank_of(stage))] +=
        kept.bytes(zero, weights.whole[at], weights.share[at], whole) - 1.5;
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
  StageWeights weights;
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
