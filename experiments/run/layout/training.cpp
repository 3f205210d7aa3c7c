#include "experiments/run/layout/training.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "experiments/run/layout/degrees.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/modules.hpp"
#include "experiments/run/layout/stack_memory.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/order/placement.hpp"

namespace penstock {
namespace {

constexpr double usual_bytes = 25 * 1024.0 * 1024.0;
constexpr double most_buckets = 10'000;

std::uint32_t buckets_of(const Layout& layout, const std::vector<LayerIndex>& layers) {
  double bytes = 0, held = 0;
  for (const LayerIndex number : layers) {
    const double own = layout.model.layers[index(number)].parameter_bytes;
    bytes += own * layout.memory.kept.gradient_factor();
    if (own > 0) held += 1;
  }
  const auto& stated = layout.degrees.bucket_bytes;
  const double full = std::ceil(bytes / stated.value_or(usual_bytes));
  const double most = stated ? most_buckets : held;
  return static_cast<std::uint32_t>(std::max(1.0, std::min(full, most)));
}

/// By model stage, how many buckets its gradients are reduced in while its last backward runs, with
/// ZeRO-2 each. A bucket has the gradients of at least one layer, and at least 25 MiB, as in
/// PyTorch; with `/parallel/bucket_bytes` it has these bytes. Without overlap there is one, and
/// where the order has a REDUCE_GRAD, which is the whole sum.
std::vector<std::uint32_t> gradient_buckets(const Layout& layout) {
  const bool several = layout.degrees.overlaps_sums && !layout.communication.gradients;
  std::vector<std::uint32_t> buckets;
  for (const std::vector<LayerIndex>& layers : layout.partition.stages) {
    buckets.push_back(several ? buckets_of(layout, layers) : 1);
  }
  return buckets;
}

/// Whether parameters of a layer are on more than one device, with this many groups of ranks.
bool is_shared(const Layer& layer, double groups) {
  const auto parameters = parameters_of(layer);
  return std::ranges::any_of(parameters, [&](const SharedParameters& one) {
    return one.bytes > 0 && one.copies * (groups / one.spread) > 1;
  });
}

/// Whether there are replicas, within a group or data parallel.
bool shares_beyond_ranks(const Layout& layout) {
  const std::vector<Layer>& layers = layout.model.layers;
  return layout.degrees.data > 1 ||
         std::ranges::any_of(layers, [](const Layer& layer) { return is_shared(layer, 1); });
}

/// Whether a model stage has no backward while others have.
bool is_frozen(const Layout& layout, std::size_t stage) {
  return layout.module && layout.module->frozen && stage < layout.module->stages;
}

/// By model stage: whether any of its layers is shared among this many data replicas.
std::vector<bool> shared_stages(const Layout& layout, std::uint32_t data) {
  const auto ranks = ranks_by_model_stage(layout.placement);
  std::vector<bool> shared;
  for (std::size_t stage = 0; stage < ranks.size(); ++stage) {
    const auto& layers = layout.partition.stages[stage];
    const double groups = data * static_cast<double>(ranks[stage].size());
    shared.push_back(std::ranges::any_of(layers, [&](LayerIndex layer) {
      return is_shared(layout.model.layers[index(layer)], groups);
    }));
  }
  return shared;
}

/// By model stage: whether its replicas reduce gradients.
std::vector<bool> summed_stages(const Layout& layout) {
  std::vector<bool> sums = shared_stages(layout, layout.degrees.data);
  for (std::size_t stage = 0; stage < sums.size(); ++stage) {
    if (is_frozen(layout, stage)) sums[stage] = false;
  }
  return sums;
}

bool any_of(const std::vector<bool>& flags) {
  return std::ranges::find(flags, true) != flags.end();
}

/// By model stage: whether `test` holds for any of its layers.
template <class Test>
std::vector<bool> stages_with(const ModelGraph& model, const Partition& partition, Test test) {
  std::vector<bool> stages;
  for (const std::vector<LayerIndex>& layers : partition.stages) {
    stages.push_back(std::ranges::any_of(
        layers, [&](LayerIndex layer) { return test(model.layers[index(layer)]); }));
  }
  return stages;
}

/// Whether a layer is recomputed. With a mode, a layer without a stated time counts too: by its
/// recomputed bytes or its kernels.
bool made_again(const RecomputeSection& recompute, const Layer& layer) {
  if (layer.work.repeated == Repeated::nothing) return false;
  if (layer.recompute_us > 0) return true;
  if (!recompute.mode) return false;
  if (recompute.mode != RecomputeMode::selective) {
    return layer.recomputed_bytes > 0 || !layer.work.kernels.empty();
  }
  return layer.recomputed_bytes > 0 || std::ranges::any_of(layer.work.kernels, &Kernel::selective);
}

Recomputing recomputing_of(const Layout& layout) {
  if (layout.recompute.mode == RecomputeMode::none) return {};
  const auto again = [&](const Layer& layer) { return made_again(layout.recompute, layer); };
  return {.stages = stages_with(layout.model, layout.partition, again),
          .early = layout.recompute.early,
          .except_last = layout.recompute.mode == RecomputeMode::except_last,
          .microbatches = layout.recompute.microbatches};
}

/// Memory traffic of the update in bytes per second; 0: the update takes the stated time.
double update_bytes_per_s(const Layout& layout) {
  const auto& machine = layout.hardware.spec.machine;
  if (layout.overheads.optimizer_us || !machine || layout.memory.kept.optimizer == 0) return 0;
  constexpr double large = 1e9;  // MB; large enough to stream
  const Device& device = machine->device;
  return device.memory_bandwidth_bytes_per_s * efficiency_at(device.memory_efficiency, large);
}

/// Layers by kind are gathered one ahead, as FSDP does; layers that state their times may each
/// stand for many.
std::optional<std::uint32_t> layers_ahead(const Layout& layout) {
  if (layout.memory.prefetch_layers || layout.spec.blocks.empty()) {
    return layout.memory.prefetch_layers;
  }
  return 1;
}

/// Whether each layer is recomputed right before its backward, or nothing that needs weights is.
bool recomputes_gathered(const Layout& layout) {
  const bool by_layer =
      layout.recompute.unit.value_or(RecomputeUnit::layer) == RecomputeUnit::layer;
  return by_layer && !layout.spec.blocks.empty() &&
         layout.recompute.mode != RecomputeMode::except_last;
}

/// Without gradients there is no reduction and no update.
bool trains(const Layout& layout) {
  return layout.schedule.has(Pass::backward) || layout.schedule.has(Pass::backward_weight);
}

Summing summing_of(const Layout& layout, std::uint32_t zero) {
  if (layout.communication.gradients) return Summing::written;
  const bool once = zero < 2 || keeps_whole_gradients(layout);
  if (once) return layout.degrees.overlaps_sums ? Summing::behind_stage : Summing::behind_row;
  if (zero == 2) return layout.degrees.overlaps_sums ? Summing::behind_each : Summing::in_passes;
  // With sharded parameters, each pass gathers parameters and reduces gradients itself.
  return Summing::in_passes;
}

Tail tail_of(const Layout& layout) {
  Tail tail;
  if (!trains(layout)) return tail;
  const std::uint32_t zero = zero_level(layout);
  if ((zero < 3 || keeps_whole_gradients(layout)) && shares_weights(layout)) {
    tail.reduces = summed_stages(layout);
    for (const std::uint32_t buckets : gradient_buckets(layout)) tail.early.push_back(buckets > 1);
  }
  tail.summing = summing_of(layout, zero);
  tail.gathers = zero == 1 || zero == 2;
  tail.across_ranks = layout.degrees.data == 1;
  tail.updated_with = first_pieces(exchanges_of(layout));
  // New weights are gathered after an update, even if the update takes no time.
  tail.updates = layout.overheads.optimizer_us.value_or(0) > 0 || step_us(layout) > 0 ||
                 update_bytes_per_s(layout) > 0 || tail.gathers;
  tail.ties = layout.tied_embedding_bytes > 0;
  if (layout.module) tail.tied_from = layout.module->stages;
  return tail;
}

/// Throws InputError for settings that a schedule without flushes would ignore.
void check_no_tail(const Layout& layout) {
  if (layout.degrees.data > 1 && has_weights(layout.model)) {
    throw InputError("/parallel/data",
                     "an asynchronous order has no point at which data replicas could reduce their "
                     "gradients; set it to 1, and replicate stages by /partition/ranks");
  }
  if (shares_beyond_ranks(layout) && has_weights(layout.model)) {
    throw InputError(
        "/parallel",
        "an asynchronous order has no point at which the devices of a rank could reduce "
        "the gradients of shared weights; set \"context\" and \"expert\" to 1");
  }
  if (layout.tied_embedding_bytes > 0) {
    throw InputError("/model/tied_embedding_bytes",
                     "an asynchronous order has no point at which first and last stage could "
                     "exchange gradients; each must have an embedding of its own");
  }
}

std::vector<CodecTimes> codec_times(const Layout& layout) {
  std::vector<CodecTimes> times;
  for (const StageCoding& coding : layout.codings) times.push_back(coding.times);
  return times;
}

/// Adds the kinds of buffers beyond the usual ones.
void hold_kinds(const Layout& layout, Extras& extras) {
  const auto hold = [&](BufferKind kind, bool holds) {
    if (holds) extras.holds[static_cast<std::size_t>(kind)] = true;
  };
  const BytesPerParameter kept = layout.memory.kept;
  hold(BufferKind::weight_gradients, kept.gradient > 0 && trains(layout));
  hold(BufferKind::optimizer, kept.optimizer > 0 && trains(layout));
  hold(BufferKind::context, layout.memory.context_bytes > 0);
  const bool written = layout.communication.weights;
  hold(BufferKind::gathered, written);
  hold(BufferKind::workspace, (zero_level(layout) == 3 && !written) || leaves_placeholders(layout));
  for (const Layer& layer : layout.model.layers) {
    hold(BufferKind::input_stash, layer.freed_by_input_bytes > 0);
    hold(BufferKind::pending_weight, layer.pending_weight_bytes > 0);
    hold(BufferKind::workspace, layer.workspace_bytes > 0);
    hold(BufferKind::recomputed, layer.recomputed_bytes > 0);
  }
}

}  // namespace

bool has_weights(const ModelGraph& model) {
  return std::ranges::any_of(model.layers,
                             [](const Layer& layer) { return layer.parameter_bytes > 0; });
}

bool shares_weights(const Layout& layout) {
  // Copies on several ranks that update as they run each hold their own weights.
  if (shares_beyond_ranks(layout)) return true;
  return !layout.schedule.has(Pass::update) && any_of(summed_stages(layout));
}

std::uint32_t zero_level(const Layout& layout) {
  return shares_weights(layout) ? layout.memory.zero : 0;
}

bool gathers_weights(const Layout& layout) {
  return zero_level(layout) == 3 &&
         any_of(shared_stages(layout, layout.degrees.data / layout.memory.shard_groups));
}

bool keeps_whole_gradients(const Layout& layout) {
  return layout.communication.gradients ||
         keeps_whole_gradients(layout.memory, zero_level(layout), layout.placement.ranks(),
                               layout.microbatches);
}

bool overlaps_gathers(const Layout& layout) {
  return layout.degrees.overlaps_gathers.value_or(stack_of(layout).overlaps_gathers);
}

double step_us(const Layout& layout) {
  const bool trains = layout.memory.kept.optimizer > 0;
  return trains && !layout.overheads.optimizer_us ? stack_of(layout).step_us : 0;
}

double stretch_of(const StackConstants& stack, std::uint32_t data) {
  return 1 + stack.scale_loss * portable_log(double(data)) / portable_log(2);
}

Extras extras_of(const Layout& layout) {
  Extras extras{recomputing_of(layout), {}, {}};
  if (layout.schedule.has(Pass::update)) {
    check_no_tail(layout);
  } else {
    extras.tail = tail_of(layout);
  }
  hold_kinds(layout, extras);
  extras.communication = layout.communication;
  extras.exchanges = exchanges_of(layout);
  return extras;
}

Training training_of(const Layout& layout) {
  const BytesPerParameter kept = layout.memory.kept;
  return {.data = layout.degrees.data,
          .shard_groups = layout.memory.shard_groups,
          .gradient_factor = kept.gradient_factor(),
          .optimizer_factor = kept.optimizer_factor(),
          .zero = zero_level(layout),
          .whole_gradients = keeps_whole_gradients(layout),
          .gathers_written = layout.communication.weights,
          .gathered_bytes = layout.memory.gathered_bytes,
          .layers_ahead = layers_ahead(layout),
          .recomputes_gathered = recomputes_gathered(layout),
          .placeholder_bytes = placeholders_of(layout),
          .buckets = gradient_buckets(layout),
          .received_share = layout.degrees.scatters ? 1.0 / layout.degrees.tensor : 1,
          .module = module_end(layout),
          .overlaps_sums = layout.degrees.overlaps_sums,
          .overlaps_gathers = overlaps_gathers(layout) && !layout.communication.weights,
          .stretch = stretch_of(stack_of(layout), layout.degrees.data),
          .exposed = {stack_of(layout).gathers_exposed,
                      layout.communication.gradients ? 0 : stack_of(layout).sums_exposed},
          .slows = {layout.conditions.compute_slowdown, layout.conditions.transfer_slowdown},
          .optimizer_us = layout.overheads.optimizer_us.value_or(0),
          .step_us = step_us(layout),
          .update_bytes_per_s = update_bytes_per_s(layout),
          .tied_embedding_bytes = layout.tied_embedding_bytes,
          .context_bytes = layout.memory.context_bytes,
          .codecs = codec_times(layout),
          .codecs_overlap = layout.codec.overlappable};
}

std::uint64_t devices_of(const Layout& layout) {
  const auto& module = layout.module;
  return pipeline_ranks(layout) * devices_per_rank(layout.degrees) +
         (module ? module->own_ranks() * module->devices_per_own_rank() : 0);
}

std::uint32_t pipeline_ranks(const Layout& layout) {
  return layout.placement.ranks() - (layout.module ? layout.module->own_ranks() : 0);
}

std::uint32_t chunks_of(const Layout& layout) {
  const auto all = static_cast<std::uint32_t>(layout.placement.chains().front().size());
  const std::uint32_t stages =
      all - (layout.module ? layout.module->stages : 0) - further_pieces(layout);
  const std::uint32_t ranks = pipeline_ranks(layout);
  return std::max(1u, (stages + ranks - 1) / ranks);
}

double global_batch_of(const Layout& layout) {
  return static_cast<double>(layout.microbatches) * layout.batch.samples_per_microbatch *
         layout.degrees.data;
}

bool may_hide_experts(std::string_view schedule) {
  return schedule == "interleaved-1f1b" || schedule == "1f1b";
}

const char* why_no_hiding(std::uint32_t pipeline, std::uint32_t chunks, std::uint32_t expert) {
  if (expert == 1) return "without expert groups there is no traffic to hide";
  if (chunks == 1 && pipeline > 1) return "a pipeline hides expert traffic with interleaved-1f1b";
  return nullptr;
}

bool is_proposed(const Layout& layout) {
  const bool shards = layout.memory.zero == 0 || shares_weights(layout);
  if (!layout.degrees.overlaps_experts) return shards;
  return shards && layout.rule != nullptr && may_hide_experts(layout.rule->name) &&
         layout.recompute.mode != RecomputeMode::full &&
         why_no_hiding(pipeline_ranks(layout), chunks_of(layout), layout.degrees.expert) == nullptr;
}

}  // namespace penstock
