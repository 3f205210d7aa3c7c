#include <fmt/format.h>

#include "schedules/partitioners/registry.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

/// As many layers in each stage, in topological order; the first stages take what is left over.
Partition cut(const ModelGraph& model, std::uint32_t stages) {
  const auto layers = static_cast<std::uint32_t>(model.layers.size());
  if (layers < stages) {
    throw InputError("/model", fmt::format("{} layers cannot fill {} stages; each stage needs at "
                                           "least one layer",
                                           layers, stages));
  }
  const std::vector<LayerIndex> order = topological_order(model);
  Partition partition;
  auto next = order.begin();
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    const auto end = next + layers / stages + (stage < layers % stages ? 1 : 0);
    partition.stages.emplace_back(next, end);
    next = end;
  }
  return partition;
}

}  // namespace

constinit extern const PartitionerEntry even_entry{
    "even", "as many layers in each stage, the first stages one more where it does not divide",
    cut};

}  // namespace penstock
