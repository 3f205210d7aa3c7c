#include <numeric>

#include "experiments/plan/planner/bounds/frames.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "experiments/run/simulation.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock {

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
  std::vector<std::uint32_t> of_layer(base_.reduced_layer.size());
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (const LayerIndex layer : partition.stages[stage]) of_layer[index(layer)] = stage;
  }
  return of_layer;
}

/// The layers of a frame for its partitioner.
ModelToCut LayoutFrames::chain_of(const LayoutFrame& frame, std::uint32_t zero) const {
  const std::vector<LayerTimes>& all = *times(frame, zero);
  const ModelGraph& model = shapes_.model(key(frame, zero), frame.recomputation);
  const bool again = space_.recomputations[frame.recomputation].mode != "none";
  ModelToCut chain = chain_;
  for (std::size_t place = 0; place < chain.layers.size(); ++place) {
    const std::uint32_t number = base_.reduced_layer[index(chain.layers[place].front())];
    const auto us = [&](Pass pass) {
      return all[number].us[static_cast<std::size_t>(pass)].value_or(0);
    };
    const double more = again ? us(Pass::recompute) : 0;
    const Layer& layer = model.layers[number];
    chain.problem.layers[place] = {.forward_s = us(Pass::forward) / 1e6,
                                   .backward_s = (us(Pass::backward) + more) / 1e6,
                                   .input_s = (us(Pass::backward_input) + more) / 1e6,
                                   .weight_s = us(Pass::backward_weight) / 1e6,
                                   .output_bytes = layer.activation_bytes,
                                   .parameter_bytes = layer.parameter_bytes,
                                   .stash_bytes = layer.stash_bytes,
                                   .counted = layer.cut_evenly};
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
