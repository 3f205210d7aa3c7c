#include <numeric>

#include "experiments/plan/planner/bounds/frames.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "experiments/run/simulation.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// What is left of a layer on the device once what it keeps is offloaded, as `fit_model` counts it.
LayerTimes offloaded(LayerTimes layer) {
  layer.workspace_bytes += layer.kept_bytes;
  layer.pending_bytes += layer.kept_bytes - layer.freed_bytes;
  layer.kept_bytes = layer.freed_bytes = 0;
  return layer;
}

}  // namespace

CutTimes LayoutFrames::cut(const LayoutFrame& frame, std::uint32_t zero, Layout& layout) const {
  const std::vector<std::uint32_t> stage_of = stages_of_layers(frame, layout.placement, zero);
  layout.partition = {};
  layout.partition.stages.resize(layout.placement.chains().front().size());
  for (std::uint32_t layer = 0; layer < stage_of.size(); ++layer) {
    layout.partition.stages[stage_of[layer]].push_back(LayerIndex{layer});
  }
  CutTimes times = cut_times(frame, stage_of, zero);
  if (space_.recomputations[frame.recomputation].offloads) return times;
  layout.recompute.layers.reset();  // its layers are chosen here
  for (std::size_t i = 0; i < stage_of.size(); ++i) {
    const std::uint32_t number = base_.reduced_layer[i];
    if (times.of_layer[i] == number) continue;
    Layer& layer = layout.model.layers[i];
    layer = shapes_.model(key(frame), runs_sharded(zero), shapes_.nothing()).layers[number];
    layer.work.repeated = Repeated::nothing;
  }
  return times;
}

/// Where only some layers are recomputed or offloaded, the others of each stage, or these, have the
/// times that follow.
CutTimes LayoutFrames::cut_times(const LayoutFrame& frame,
                                 const std::vector<std::uint32_t>& stage_of,
                                 std::uint32_t zero) const {
  CutTimes cut{*times(frame, zero), base_.reduced_layer};
  if (frame.some_layers == 0) return cut;
  const bool sharded = runs_sharded(zero);
  const bool offloads = space_.recomputations[frame.recomputation].offloads;
  const auto others = static_cast<std::uint32_t>(cut.times.size());
  const std::vector<LayerTimes>& whole = *shapes_.of(key(frame), sharded, shapes_.nothing());
  const ModelGraph& model = shapes_.model(key(frame), sharded, frame.recomputation);
  for (const LayerTimes& layer : whole) {
    cut.times.push_back(offloads ? offloaded(layer) : layer);
  }
  std::vector<std::uint32_t> seen(stage_of.size());  // by stage
  for (std::size_t i = 0; i < stage_of.size(); ++i) {
    const Layer& layer = model.layers[cut.of_layer[i]];
    const bool counts = offloads ? !layer.at_an_end : layer.work.repeated == Repeated::all;
    if (counts && (++seen[stage_of[i]] <= frame.some_layers) == offloads) cut.of_layer[i] += others;
  }
  return cut;
}

std::vector<std::uint32_t> LayoutFrames::stages_of_layers(const LayoutFrame& frame,
                                                          const Placement& placement,
                                                          std::uint32_t zero) const {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  if (frame.bound_by != BoundBy::priced_cut) return stage_of_layer_.at(stages);
  if (base_.scenario.model.stages_given) {
    std::vector<std::uint32_t> own(base_.reduced_layer.size());
    std::iota(own.begin(), own.end(), 0U);
    return own;
  }
  CutSizes sizes = links_[frame.degrees][runs_sharded(zero) ? 1 : 0];
  sizes.stages = stages;
  sizes.ranks = placement.ranks();
  sizes.microbatches =
      space_.degrees[frame.degrees].microbatches * groups_[frame.group].like->slices;
  const PartitionerEntry* entry =
      find_named(partitioner_entries(), space_.partitions[frame.partition]);
  Partition partition{base_.scenario.partition.stages, {}};
  if (partition.stages.empty()) {
    partition = cut_by(*entry, base_.scenario.partition.settings, sizes, base_.settled.memory,
                       chain_of(frame, zero));
  }
  return stage_of_layers(partition, base_.reduced_layer.size());
}

/// The layers of a frame for its partitioner.
ModelToCut LayoutFrames::chain_of(const LayoutFrame& frame, std::uint32_t zero) const {
  const std::vector<LayerTimes>& all = *times(frame, zero);
  const ModelGraph& model = shapes_.model(key(frame), runs_sharded(zero), frame.recomputation);
  const PassTimes times = times_to_cut(
      [&](const Layer& layer, Pass pass) {
        return all[static_cast<std::size_t>(&layer - model.layers.data())]
            .us[static_cast<std::size_t>(pass)];
      },
      shapes_.recomputation(frame.recomputation));
  std::vector<CutLayer> different;
  for (const Layer& layer : model.layers) different.push_back(layer_to_cut(layer, times));
  ModelToCut chain = chain_;
  for (std::size_t place = 0; place < chain.layers.size(); ++place) {
    chain.problem.layers[place] =
        different[base_.reduced_layer[index(chain.layers[place].front())]];
  }
  return chain;
}

/// The link between the first ranks of some degrees, on either stack.
void LayoutFrames::find_link(std::uint32_t number) {
  LayoutChoice choice = space_.degrees[number];
  for (const std::uint32_t zero : {0U, 3U}) {
    choice.zero = zero;
    Layout layout = without_layers(base_, choice, 1);
    layout.placement = Placement::loop(choice.pipeline, 1);
    spread_ranks(base_.scenario, layout);
    CutSizes& link = links_[number][runs_sharded(zero) ? 1 : 0];
    link.ranks = choice.pipeline;
    add_link(*hardware_of(layout), link);
  }
}

}  // namespace penstock
