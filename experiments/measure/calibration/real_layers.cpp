#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "experiments/measure/calibration/layers_in_run.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "validate/training/layered_model.hpp"

namespace penstock {
namespace {

/// Above these a run of many iterations takes too long or too much memory.
constexpr double most_flops = 2e9;
constexpr double most_bytes = 1 << 30;

/// The scores of an attention, which its kernel holds while it runs.
double scores_of(const LayerSpec& layer, const CellShape& shape) {
  const auto heads = layer.numbers.find("heads");
  if (heads == layer.numbers.end()) return 0;
  return heads->second * shape.microbatch * shape.sequence * shape.sequence / shape.slices;
}

/// The work of an iteration, and about its memory with everything kept at once: weights, two more
/// versions and their gradients; for each cell, what is kept and what is sent.
std::optional<std::string> why_not_size(const JobLayers& layers, const Plan& plan) {
  double flops = 0;
  double bytes = 0;
  for (const std::vector<LayerSpec>& stage : layers.stages) {
    for (const LayerSpec& layer : stage) {
      const LayerWork work = work_of(layer, layers.shape);
      flops += plan.microbatches * (work.forward_flops + work.backward_flops);
      const double of_cell = work.kept_bytes + 2 * work.output_bytes;
      bytes += 8 * (5 * work.parameters + 2 * scores_of(layer, layers.shape) +
                    plan.microbatches * of_cell / layers.shape.activation_size);
    }
  }
  if (flops > most_flops) {
    return fmt::format("an iteration has {:.3g} FLOP; {:.3g} are the most", flops, most_flops);
  }
  if (bytes <= most_bytes) return std::nullopt;
  return fmt::format("an iteration holds up to {:.3g} bytes in doubles; {:.3g} are the most", bytes,
                     most_bytes);
}

bool has_tied_head(const JobLayers& layers) {
  const LayerSpec& last = layers.stages.back().back();
  const auto tied = last.numbers.find("tied");
  return last.kind == "head" && tied != last.numbers.end() && tied->second == 1;
}

/// The copies of an end of the model that are updated, and the ranks that hold them.
struct TiedEnd {
  std::set<std::uint32_t> ranks;
  std::size_t copies = 0;
};

TiedEnd tied_end(const Plan& plan, std::uint32_t model_stage) {
  TiedEnd end;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.pass != Pass::update || plan.model_stage[index(work.stage)] != model_stage) continue;
    end.ranks.insert(work.resource);
    ++end.copies;
  }
  return end;
}

/// Whether each update of an end of the model gets the gradients of all copies of the other end:
/// on its own rank, or in one transfer each.
bool ties_all_copies(const Plan& plan) {
  const std::uint32_t last = *std::max_element(plan.model_stage.begin(), plan.model_stage.end());
  const std::array ends{tied_end(plan, 0), tied_end(plan, last)};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const std::uint32_t stage = plan.model_stage[index(work.stage)];
    if (work.pass != Pass::update || (stage != 0 && stage != last)) continue;
    const TiedEnd& other = ends[stage == 0 ? 1 : 0];
    if (other.ranks.contains(work.resource)) continue;
    std::size_t ties = 0;
    plan.for_each_input(task, [&](TaskId input) {
      if (plan.class_of(input).pass == Pass::tie_gradient) ++ties;
    });
    if (ties != other.copies) return false;
  }
  return true;
}

/// Both ends of a tied model step with the gradients of both.
std::optional<std::string> why_not_tied(const JobLayers& layers, const Schedule& order,
                                        const Plan& plan) {
  const bool exchanges = std::any_of(plan.classes.begin(), plan.classes.end(), [](const auto& one) {
    return one.pass == Pass::tie_gradient;
  });
  if (!has_tied_head(layers)) {
    if (exchanges) return "the model states bytes of tied weights, but has no tied head";
    return std::nullopt;
  }
  if (order.has(Pass::update)) return "kernels tie no weights in orders without flushes";
  if (ties_all_copies(plan)) return std::nullopt;
  return "copies of the embedding do not get the gradients of all copies of the head, or the "
         "other way round";
}

std::vector<StageCodecs> codecs_of(const Layout& layout) {
  std::vector<StageCodecs> codecs;
  for (const StageCoding& coding : layout.codings) {
    StageCodecs& own = codecs.emplace_back();
    if (coding.stash) own.stash = coding.stash->codec;
    if (coding.link) own.link = coding.link->codec;
  }
  return codecs;
}

JobLayers layers_of(const Layout& layout, const Schedule& order) {
  JobLayers layers;
  layers.shape = layout.shape;
  layers.selective = layout.recompute.mode == RecomputeMode::selective;
  layers.weights = order.weights();
  layers.codecs = codecs_of(layout);
  for (std::vector<LayerIndex> stage : layout.partition.stages) {
    std::sort(stage.begin(), stage.end());
    std::vector<LayerSpec>& own = layers.stages.emplace_back();
    for (const LayerIndex layer : stage) {
      const auto& parts = layout.spec.blocks[index(layer)].parts;
      own.insert(own.end(), parts.begin(), parts.end());
    }
  }
  return layers;
}

}  // namespace

std::optional<std::string> why_not_model(const Layout& layout) {
  if (layout.spec.blocks.empty()) return "the model states times, not kinds of layers";
  if (layout.module) return "its layers have one set of degrees: leave out /modules";
  const auto& blocks = layout.spec.blocks;
  const bool further = std::any_of(blocks.begin(), blocks.end(),
                                   [](const BlockSpec& block) { return block.predicts_further; });
  if (further) return "kernels predict one token, not further ones";
  const RecomputeSection& recompute = layout.recompute;
  const bool scores_alone = recompute.operators == std::vector<std::string>{"core_attention"};
  if (recompute.mode == RecomputeMode::selective && !scores_alone) {
    return "kernels recompute core_attention alone";
  }
  if (recompute.layers || recompute.together > 1) {
    return "kernels recompute all layers of a stage, from its input";
  }
  if (layout.offloaded_layers > 0) return "kernels offload whole activations, not those of layers";
  return std::nullopt;
}

RealLayers real_layers(const Layout& layout, const Schedule& order, const Plan& plan) {
  if (auto reason = why_not_model(layout)) return {{}, *reason};
  JobLayers layers = layers_of(layout, order);
  if (auto reason = why_not_layers(layers)) return {{}, "there are no kernels for " + *reason};
  if (auto reason = why_not_size(layers, plan)) return {{}, *reason};
  if (auto reason = why_not_tied(layers, order, plan)) return {{}, *reason};
  return {std::move(layers), ""};
}

}  // namespace penstock
