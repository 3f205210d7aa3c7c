#include "sim/stage_share.hpp"

namespace penstock {
namespace {

/// How many devices hold the same of these parameters.
double holders(const SharedParameters& parameters, const StageShare& stage) {
  return parameters.copies * stage.copies;
}

/// The parameters of a stage, or the share of them that one device keeps.
double kept_parameters(const StageShare& stage, bool shares) {
  if (!shares) return stage.sizes.parameter_bytes;
  double kept = 0;
  for (const SharedParameters& one : stage.sizes.parameters)
    kept += one.bytes / holders(one, stage);
  return kept;
}

/// Once round the ring of every group of devices, with `factor` bytes for each of parameters.
Carried once_round(const StageShare& stage, double factor) {
  Carried carried;
  for (const SharedParameters& one : stage.sizes.parameters) {
    const double steps = holders(one, stage) - 1;
    carried.bytes += factor * one.bytes * steps / (steps + 1);
    carried.steps += steps;
  }
  return carried;
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

}  // namespace

std::vector<StageShare> stage_shares(const Plan& plan, const ModelGraph& model,
                                     const Partition& partition, const Training& training) {
  std::vector<StageShare> shares;
  for (StageSizes& sizes : stage_sizes(model, partition)) shares.push_back({std::move(sizes)});
  for (const BufferClass& buffer : plan.buffers) {
    if (buffer.kind != BufferKind::parameters) continue;
    shares[plan.model_stage[index(buffer.stage)]].copies += training.data;
  }
  return shares;
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

Carried carried_by_tail(Pass pass, const StageShare& stage, const Training& training) {
  if (pass == Pass::tie_gradient) return {training.tied_embedding_bytes, 1};
  if (pass == Pass::gather_weights) return once_round(stage, 1);
  Carried carried = once_round(stage, training.gradient_factor);
  if (training.zero > 0) return carried;
  return {2 * carried.bytes, 2 * carried.steps};
}

Carried carried_by_pass(const WorkClass& work, const StageShare& stage, const Training& training) {
  if (training.zero < 3 || work.pass > Pass::recompute) return {};
  const Carried weights = once_round(stage, 1);
  const Carried gradients = once_round(stage, training.gradient_factor);
  const double times = gathers(work);
  const double sums = ends_activation(work.pass) ? 1 : 0;
  return {times * weights.bytes + sums * gradients.bytes,
          times * weights.steps + sums * gradients.steps};
}

}  // namespace penstock
