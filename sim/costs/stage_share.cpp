#include "sim/costs/stage_share.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The parameters of a stage, or the share of them that one device keeps.
double kept_parameters(const StageShare& stage, bool shares) {
  if (!shares) return stage.sizes.parameter_bytes;
  double kept = 0;
  for (const SharedParameters& one : stage.sizes.parameters)
    kept += one.bytes / holders_of(one, stage).count();
  return kept;
}

/// Parameters that are whole for a while, beside the share that stays.
double gathered_bytes(const StageShare& stage, const Training& training) {
  if (training.zero < 3) return 0;
  return training.gathered_bytes.value_or(stage.sizes.largest_parameter_bytes);
}

/// How often a pass needs the weights of its stage.
double gathers(const WorkClass& work) {
  const bool reads_weights = work.pass == Pass::forward || reads_activation(work.pass);
  return (reads_weights ? 1 : 0) + (work.recomputes ? 1 : 0);
}

/// What passes take upon themselves.
std::vector<StageCollective> collectives_of_pass(const WorkClass& work, const Training& training) {
  std::vector<StageCollective> all;
  if (work.pass > Pass::recompute) return all;
  const double times = training.zero == 3 ? gathers(work) : 0;
  const bool sums = training.zero == 3 || (training.zero == 2 && !training.overlaps_sums);
  if (times > 0) all.push_back({CollectiveKind::all_gather, times});
  if (sums && ends_activation(work.pass)) all.push_back({CollectiveKind::reduce_scatter});
  return all;
}

/// Once round the ring of every group of devices that hold the same.
Carried once_round(CollectiveKind kind, const StageShare& stage, const Training& training) {
  Carried carried;
  for (const SharedParameters& one : stage.sizes.parameters) {
    const double steps = holders_of(one, stage).count() - 1;
    carried.bytes += bytes_in(kind, one, training) * steps / (steps + 1);
    carried.steps += steps;
  }
  if (kind != CollectiveKind::all_reduce) return carried;
  return {2 * carried.bytes, 2 * carried.steps};
}

}  // namespace

std::vector<StageShare> stage_shares(const Plan& plan, const ModelGraph& model,
                                     const Partition& partition, const Training& training) {
  std::vector<StageShare> shares;
  for (StageSizes& sizes : stage_sizes(model, partition)) {
    shares.push_back({std::move(sizes), static_cast<double>(training.data), {}});
  }
  for (const BufferClass& buffer : plan.buffers) {
    if (buffer.kind != BufferKind::parameters) continue;
    shares[plan.model_stage[index(buffer.stage)]].ranks.push_back(buffer.rank);
  }
  for (StageShare& share : shares) {
    std::sort(share.ranks.begin(), share.ranks.end());
    share.ranks.erase(std::unique(share.ranks.begin(), share.ranks.end()), share.ranks.end());
  }
  return shares;
}

Holders holders_of(const SharedParameters& parameters, const StageShare& stage) {
  return {parameters.copies, stage.data, stage.ranks};
}

double bytes_of(BufferKind kind, const StageShare& stage, const Training& training) {
  const StageSizes& sizes = stage.sizes;
  switch (kind) {
    case BufferKind::parameters:
    case BufferKind::versions:
      return kept_parameters(stage, training.zero >= 3);
    case BufferKind::weight_gradients:
      return kept_parameters(stage, training.zero >= 2) * training.gradient_factor;
    case BufferKind::optimizer:
      return kept_parameters(stage, training.zero >= 1) * training.optimizer_factor;
    case BufferKind::stash:
      return sizes.stash_bytes;
    case BufferKind::input_stash:
      return sizes.input_stash_bytes;
    case BufferKind::recomputed:
      return sizes.recomputed_bytes;
    case BufferKind::pending_weight:
      return sizes.pending_weight_bytes;
    case BufferKind::workspace:
      return sizes.workspace_bytes + gathered_bytes(stage, training);
    case BufferKind::context:
      return training.context_bytes;
    case BufferKind::reserve:
      return training.reserve_bytes;
    case BufferKind::receive:
    case BufferKind::gradient:
      break;
  }
  return sizes.activation_bytes;
}

double moved_by_update(const StageShare& stage, const Training& training) {
  return kept_parameters(stage, training.zero >= 1) *
         (1 + training.gradient_factor + 2 * training.optimizer_factor);
}

std::vector<StageCollective> collectives_of(const WorkClass& work, const Training& training) {
  switch (work.pass) {
    case Pass::reduce_gradient:
      return {{training.zero > 0 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce}};
    case Pass::gather_weights:
      return {{CollectiveKind::all_gather}};
    default:
      return collectives_of_pass(work, training);
  }
}

double bytes_in(CollectiveKind kind, const SharedParameters& parameters, const Training& training) {
  return kind == CollectiveKind::all_gather ? parameters.bytes
                                            : training.gradient_factor * parameters.bytes;
}

Carried carried_by(const std::vector<StageCollective>& collectives, const StageShare& stage,
                   const Training& training) {
  Carried carried;
  for (const StageCollective& one : collectives) {
    const Carried round = once_round(one.kind, stage, training);
    carried.bytes += one.times * round.bytes;
    carried.steps += one.times * round.steps;
  }
  return carried;
}

}  // namespace penstock
