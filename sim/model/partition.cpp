#include "sim/model/partition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t no_stage = UINT32_MAX;

void add_parameters(StageSizes& sizes, const SharedParameters& more) {
  if (more.bytes <= 0) return;
  sizes.parameter_bytes += more.bytes;
  auto same = std::ranges::find_if(sizes.parameters, [&](const SharedParameters& one) {
    return one.copies == more.copies && one.spread == more.spread;
  });
  if (same == sizes.parameters.end()) {
    sizes.parameters.push_back(more);
  } else {
    same->bytes += more.bytes;
  }
}

}  // namespace

std::array<SharedParameters, 2> parameters_of(const Layer& layer) {
  const double experts = layer.expert_parameter_bytes;
  return {{{layer.parameter_bytes - experts, layer.copies, layer.spread},
           {experts, layer.expert_copies, layer.expert_spread}}};
}

std::vector<std::uint32_t> stage_of_layers(const Partition& partition, std::size_t layers) {
  std::vector<std::uint32_t> stage_of(layers, no_stage);
  for (std::uint32_t stage = 0; stage < partition.stages.size(); ++stage) {
    for (LayerIndex layer : partition.stages[stage]) stage_of[index(layer)] = stage;
  }
  return stage_of;
}

void check_partition(const ModelGraph& model, const Partition& partition) {
  std::vector<std::uint32_t> stage_of(model.layers.size(), no_stage);
  for (std::uint32_t stage = 0; stage < partition.stages.size(); ++stage) {
    const std::string where = fmt::format("/partition/stages/{}", stage);
    if (partition.stages[stage].empty()) {
      throw InputError(where, "the stage is empty; each stage needs at least one layer");
    }
    for (LayerIndex layer : partition.stages[stage]) {
      if (index(layer) >= model.layers.size()) {
        throw InputError(where, fmt::format("unknown layer {}; layers are 0 to {}", index(layer),
                                            model.layers.size() - 1));
      }
      if (stage_of[index(layer)] != no_stage) {
        throw InputError(where, fmt::format("layer {} is already in stage {}; each layer belongs "
                                            "to one stage",
                                            index(layer), stage_of[index(layer)]));
      }
      stage_of[index(layer)] = stage;
    }
  }
  const auto left = std::ranges::find(stage_of, no_stage);
  if (left != stage_of.end()) {
    throw InputError("/partition/stages",
                     fmt::format("layer {} is in no stage", left - stage_of.begin()));
  }
}

std::vector<StageSizes> stage_sizes(const ModelGraph& model, const Partition& partition) {
  std::vector<StageSizes> sizes(partition.stages.size());
  const std::vector<std::uint32_t> stage_of = stage_of_layers(partition, model.layers.size());
  std::vector<std::uint32_t> last_reader = stage_of;
  for (const auto& [from, to] : model.edges) {
    if (stage_of[index(to)] < stage_of[index(from)]) {
      throw InputError(
          "/partition/stages",
          fmt::format("layer {} of stage {} feeds layer {} of stage {}; activations "
                      "go to the same or a later stage",
                      index(from), stage_of[index(from)], index(to), stage_of[index(to)]));
    }
    std::uint32_t& last = last_reader[index(from)];
    last = std::max(last, stage_of[index(to)]);
  }
  for (std::uint32_t layer = 0; layer < stage_of.size(); ++layer) {
    const Layer& costs = model.layers[layer];
    StageSizes& own = sizes[stage_of[layer]];
    own.stash_bytes += costs.stash_bytes - costs.freed_by_input_bytes;
    own.input_stash_bytes += costs.freed_by_input_bytes;
    own.offloaded_bytes += costs.offloaded_bytes;
    for (const SharedParameters& one : parameters_of(costs)) add_parameters(own, one);
    own.gathered_bytes += costs.gathered_bytes();
    own.recomputed_bytes += costs.recomputed_bytes;
    own.pending_weight_bytes += costs.pending_weight_bytes;
    own.workspace_bytes = std::max(own.workspace_bytes, costs.workspace_bytes);
    for (std::uint32_t stage = stage_of[layer]; stage < last_reader[layer]; ++stage) {
      sizes[stage].activation_bytes += costs.activation_bytes;
    }
  }
  return sizes;
}

}  // namespace penstock
