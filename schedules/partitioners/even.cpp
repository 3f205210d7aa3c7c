#include <fmt/format.h>

#include <algorithm>

#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The layers that count; all of them when too few do.
std::vector<bool> counted(const ModelGraph& model, std::uint32_t stages) {
  std::vector<bool> counts;
  for (const Layer& layer : model.layers) counts.push_back(layer.cut_evenly);
  const auto many = std::count(counts.begin(), counts.end(), true);
  if (static_cast<std::uint32_t>(many) < stages) counts.assign(counts.size(), true);
  return counts;
}

/// Gives each stage the same number of counted layers, in topological order; the first stages take
/// the remainder. Other layers join the counted one before them, leading ones the first counted
/// one.
Partition cut(const ModelGraph& model, std::uint32_t stages) {
  const std::vector<bool> counts = counted(model, stages);
  const auto layers = static_cast<std::uint32_t>(std::count(counts.begin(), counts.end(), true));
  if (layers < stages) {
    throw InputError("/model", fmt::format("{} layers cannot fill {} stages: each stage needs at "
                                           "least one layer",
                                           layers, stages));
  }
  Partition partition{.stages = {{}}, .ranks = {}};
  std::uint32_t in_stage = 0;
  for (const LayerIndex layer : topological_order(model)) {
    const auto stage = static_cast<std::uint32_t>(partition.stages.size() - 1);
    const std::uint32_t full = layers / stages + (stage < layers % stages ? 1 : 0);
    if (counts[index(layer)] && in_stage++ == full) {
      partition.stages.emplace_back();
      in_stage = 1;
    }
    partition.stages.back().push_back(layer);
  }
  return partition;
}

}  // namespace

constinit extern const PartitionerEntry even_entry{
    "even", "equally many layers per stage; the first stages take the remainder", cut};

}  // namespace penstock
