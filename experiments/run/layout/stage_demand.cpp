#include "experiments/run/layout/stage_demand.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

constexpr std::array computing_passes{Pass::forward, Pass::backward, Pass::backward_input,
                                      Pass::backward_weight, Pass::recompute};

/// The ranks that hold each model stage, in all chains and replicas, ascending.
std::vector<std::vector<Rank>> ranks_by_stage(const Plan& plan, std::size_t stages) {
  std::vector<std::vector<Rank>> all(stages);
  for (const BufferClass& buffer : plan.buffers) {
    if (buffer.kind != BufferKind::parameters) continue;
    all[plan.model_stage[index(buffer.stage)]].push_back(buffer.rank);
  }
  for (std::vector<Rank>& ranks : all) {
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  }
  return all;
}

KeptParameters kept_of(const StageSizes& sizes, const std::vector<Rank>& ranks,
                       const Training& training) {
  KeptParameters kept{.whole = sizes.parameter_bytes};
  for (const SharedParameters& one : sizes.parameters) {
    kept.share += one.bytes / holders_of(one, training.replicas(), ranks).count();
  }
  return kept;
}

/// For the stages of a module: their tensor groups send whole activations, and frozen ones
/// keep their parameters alone.
Training training_of_module(Training training) {
  training.received_share = 1;
  if (training.module->frozen) training.gradient_factor = training.optimizer_factor = 0;
  return training;
}

/// Where a module ends, a receiving device holds and a sending one sends something else than what
/// one of the module puts out.
void fit_module_end(const ModuleEnd& end, std::vector<StageDemand>& stages) {
  StageDemand& last = stages[end.stage];
  for (const BufferKind kind : {BufferKind::receive, BufferKind::gradient}) {
    last.held_bytes[static_cast<std::size_t>(kind)] *= end.received;
  }
  last.of(Pass::send_activation).sent_share = end.sent;
  stages[end.stage + 1].of(Pass::send_gradient).sent_share = end.sent;
}

/// Bytes of a layer's parameters that ZeRO-3 gathers: those that several devices hold.
double gathered_bytes(const Layer& layer, const std::vector<Rank>& ranks,
                      const Training& training) {
  double bytes = 0;
  for (const SharedParameters& one : parameters_of(layer)) {
    const bool shared = holders_of(one, training.replicas(), ranks).count() > 1;
    if (one.bytes > 0 && shared) bytes += one.bytes;
  }
  return bytes * layer.gathered_share;
}

double largest_in_a_row(const std::vector<double>& bytes, std::size_t in_a_row) {
  double largest = 0;
  for (auto first = bytes.begin(); first != bytes.end(); ++first) {
    const auto left = static_cast<std::size_t>(bytes.end() - first);
    const auto end = first + static_cast<std::ptrdiff_t>(std::min(left, in_a_row));
    largest = std::max(largest, std::accumulate(first, end, 0.0));
  }
  return largest;
}

/// Adds room for gathered parameters, in addition to the permanent share: those of some layers in a
/// row during a pass, or of the whole stage from its UNSHARD on.
void add_gathered(const ModelGraph& model, const std::vector<LayerIndex>& layers,
                  const Training& training, StageDemand& stage) {
  if (training.zero < 3) return;
  std::vector<double> bytes;
  for (const LayerIndex layer : layers) {
    bytes.push_back(gathered_bytes(model.layers[index(layer)], stage.ranks, training));
  }
  const bool written = training.gathers_written;
  const std::size_t ahead = training.layers_ahead.value_or(1);
  double most = largest_in_a_row(bytes, written ? bytes.size() : ahead + 1);
  if (most > 0 && !written) most = training.gathered_bytes.value_or(most);
  const BufferKind kind = written ? BufferKind::gathered : BufferKind::workspace;
  stage.held_bytes[static_cast<std::size_t>(kind)] += most;
}

/// `frees_early`: part of an activation has a buffer of its own.
void set_held_bytes(const StageSizes& sizes, const KeptParameters& kept, double placeholders,
                    bool frees_early, const Training& training, StageDemand& stage) {
  const auto set = [&](BufferKind kind, double bytes) {
    stage.held_bytes[static_cast<std::size_t>(kind)] = bytes;
  };
  set(BufferKind::parameters, kept.sharded_from(3, training));
  set(BufferKind::versions, kept.sharded_from(3, training));
  set(BufferKind::weight_gradients, kept.gradients(training));
  set(BufferKind::optimizer, kept.optimizer(training));
  set(BufferKind::stash, sizes.stash_bytes + (frees_early ? 0 : sizes.input_stash_bytes));
  set(BufferKind::input_stash, sizes.input_stash_bytes);
  set(BufferKind::recomputed, sizes.recomputed_bytes);
  set(BufferKind::pending_weight, sizes.pending_weight_bytes);
  set(BufferKind::workspace, sizes.workspace_bytes + placeholders);
  set(BufferKind::context, training.context_bytes);
  set(BufferKind::receive, sizes.activation_bytes * training.received_share);
  set(BufferKind::gradient, sizes.activation_bytes * training.received_share);
}

/// Time of U: the stated time, plus the memory time of gradients, parameters and optimizer state.
/// Optimizer state moves twice. Counts only the share that this device updates.
double update_us(const KeptParameters& kept, const Training& training) {
  if (training.update_bytes_per_s == 0) return training.optimizer_us;
  const double moved = kept.sharded_from(1, training) *
                       (1 + training.gradient_factor + 2 * training.optimizer_factor);
  return training.optimizer_us + moved / training.update_bytes_per_s * 1e6;
}

/// Adds encoding and decoding. The B or I after R decodes what R needs.
void add_codec_times(const CodecTimes& times, StageDemand& stage) {
  stage.of(Pass::forward).extra_us += times.forward_us;
  stage.of(Pass::backward).extra_us += times.backward_us;
  stage.of(Pass::backward_input).extra_us += times.backward_us;
  stage.of(Pass::backward_weight).extra_us += times.backward_weight_us;
}

/// Whether a pass gathers the weights of its stage. A layer that is recomputed right before its
/// backward is gathered once for both.
bool gathers_weights(Pass pass, const Training& training) {
  if (training.zero != 3 || training.gathers_written) return false;
  if (pass == Pass::recompute) return !training.recomputes_gathered;
  return pass == Pass::forward || reads_activation(pass);
}

/// Whether a pass reduces its gradients.
bool reduces_gradients(Pass pass, const Training& training) {
  const bool each = training.zero == 3 || (training.zero == 2 && !training.overlaps_sums);
  return each && !training.whole_gradients && ends_activation(pass);
}

/// What sums gradients, one after the other: over a group of replicas, each of which keeps its
/// share, and that over all groups; without ZeRO over all replicas.
std::vector<StageCollective> reduction_of(const Training& training) {
  const double factor = training.gradient_factor;
  if (training.zero == 0) return {{CollectiveKind::all_reduce, factor}};
  std::vector<StageCollective> all{{CollectiveKind::reduce_scatter, factor}};
  if (training.shard_groups > 1) all.push_back({CollectiveKind::all_reduce, factor, 1, true});
  return all;
}

/// Adds the gradient reduction: the last of some buckets follows a weight gradient, those before
/// it start with it.
void add_reduction(const std::vector<StageCollective>& whole, std::uint32_t buckets,
                   StageDemand& stage) {
  for (StageCollective one : whole) {
    one.factor /= buckets;
    stage.of(Pass::reduce_gradient).collectives.push_back(one);
    one.times = buckets - 1;
    if (buckets > 1) stage.of(Pass::reduce_early).collectives.push_back(one);
  }
}

/// Adds the collectives of the tail and of the passes.
void add_collectives(const StageSizes& sizes, const Training& training, std::uint32_t buckets,
                     StageDemand& stage) {
  const double whole = sizes.parameter_bytes;
  const StageCollective gather{CollectiveKind::all_gather,
                               whole > 0 ? sizes.gathered_bytes / whole : 1};
  const std::vector<StageCollective> reduction = reduction_of(training);
  add_reduction(reduction, buckets, stage);
  stage.of(Pass::gather_weights).collectives = {gather};
  for (const Pass pass : computing_passes) {
    std::vector<StageCollective>& all = stage.of(pass).collectives;
    if (gathers_weights(pass, training)) all.push_back(gather);
    if (!reduces_gradients(pass, training)) continue;
    all.insert(all.end(), reduction.begin(), reduction.end());
  }
}

StageDemand demand_of_stage(const StageSizes& sizes, std::vector<Rank> ranks, std::uint32_t buckets,
                            double placeholders, bool frees_early, const Training& training) {
  const KeptParameters kept = kept_of(sizes, ranks, training);
  StageDemand stage{.parameter_bytes = sizes.parameter_bytes,
                    .parameters = sizes.parameters,
                    .ranks = std::move(ranks)};
  set_held_bytes(sizes, kept, placeholders, frees_early, training, stage);
  stage.of(Pass::update).extra_us = update_us(kept, training);
  stage.of(Pass::tie_gradient).sent_bytes = training.tied_embedding_bytes;
  add_collectives(sizes, training, buckets, stage);
  for (const Pass pass : {Pass::forward, Pass::backward, Pass::backward_input}) {
    stage.of(pass).host_bytes = sizes.offloaded_bytes;
  }
  return stage;
}

/// Whether an exchange joins a stage to the one before: they are pieces of one, with one update.
bool is_further_piece(const ModelGraph& model, const Partition& partition, std::size_t stage) {
  if (stage == 0) return false;
  const LayerIndex before = partition.stages[stage - 1].back();
  return model.layers[index(before)].is_exchanged();
}

}  // namespace

double state_bytes(const Layer& layer, std::size_t ranks, const Training& training) {
  const auto parameters = parameters_of(layer);
  const StageSizes sizes{.parameter_bytes = layer.parameter_bytes,
                         .parameters = {parameters.begin(), parameters.end()}};
  return kept_of(sizes, std::vector<Rank>(ranks), training).state(training);
}

Together together_of(const ModelGraph& model, const Partition& partition,
                     const Training& training) {
  Together together;
  for (const Pass pass : computing_passes) {
    together.of_all[static_cast<std::size_t>(pass)] =
        gathers_weights(pass, training) || reduces_gradients(pass, training);
  }
  for (const auto& layers : partition.stages) {
    double exchanging = 1;
    for (const LayerIndex number : layers) {
      const Layer& layer = model.layers[index(number)];
      if (layer.expert_parameter_bytes > 0) exchanging = std::max(exchanging, layer.expert_spread);
    }
    together.exchanging.push_back(static_cast<std::uint32_t>(std::ceil(exchanging)));
  }
  return together;
}

Demand demand_of(const Plan& plan, const ModelGraph& model, const Partition& partition,
                 const Training& training) {
  Demand demand{.stages = {},
                .replicas = training.replicas(),
                .extra_overlaps = training.codecs_overlap,
                .collectives_overlap = training.overlaps_sums,
                .gathers_overlap = training.overlaps_gathers,
                .sums_each = training.zero == 2 && !training.whole_gradients,
                .slows = training.slows,
                .stretch = training.stretch,
                .exposed = training.exposed,
                .layers_ahead = training.layers_ahead,
                .step_us = training.step_us};
  const std::vector<StageSizes> sizes = stage_sizes(model, partition);
  std::vector<std::vector<Rank>> ranks = ranks_by_stage(plan, sizes.size());
  const std::size_t of_module = training.module ? training.module->stage + 1 : 0;
  const Training own = training.module ? training_of_module(training) : Training{};
  const bool frees_early = std::ranges::any_of(plan.buffers, [](const BufferClass& buffer) {
    return buffer.kind == BufferKind::input_stash;
  });
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const std::uint32_t buckets = training.buckets.empty() ? 1 : training.buckets[s];
    const double placeholders =
        training.placeholder_bytes.empty() ? 0 : training.placeholder_bytes[s];
    const Training& of_stage = s < of_module ? own : training;
    demand.stages.push_back(demand_of_stage(sizes[s], std::move(ranks[s]), buckets, placeholders,
                                            frees_early, of_stage));
    add_gathered(model, partition.stages[s], of_stage, demand.stages[s]);
    if (is_further_piece(model, partition, s)) {
      demand.stages[s].of(Pass::update).extra_us -= training.optimizer_us;
    }
    if (!training.codecs.empty()) add_codec_times(training.codecs[s], demand.stages[s]);
  }
  if (training.module) fit_module_end(*training.module, demand.stages);
  return demand;
}

Costs price(const Plan& plan, const ModelGraph& model, const Partition& partition,
            const HardwareModel& hardware, const Training& training) {
  return price(plan, model, partition, hardware, demand_of(plan, model, partition, training));
}

}  // namespace penstock
