#include <doctest/doctest.h>

#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

using Stages = std::vector<std::vector<std::uint32_t>>;

ModelGraph model_of(std::uint32_t layers,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  ModelGraph model;
  model.layers.resize(layers);
  for (const auto& [from, to] : edges) model.edges.emplace_back(LayerIndex{from}, LayerIndex{to});
  return model;
}

/// A chain of layers that cost the same.
ModelGraph chain_of(std::uint32_t layers) {
  ModelGraph model = model_of(layers, {});
  model.connect_as_chain();
  for (Layer& layer : model.layers) {
    layer.forward_us = 1;
    layer.backward_us = 2;
  }
  return model;
}

Stages numbers(const Partition& partition) {
  Stages stages;
  for (const auto& stage : partition.stages) {
    stages.emplace_back();
    for (LayerIndex layer : stage) stages.back().push_back(index(layer));
  }
  return stages;
}

}  // namespace

TEST_CASE("even cuts into as many layers each, the first stages taking what is left over") {
  const PartitionerEntry& even = *find_named(partitioner_entries(), "even");
  const auto cut = [&](std::uint32_t layers, std::uint32_t stages) {
    return numbers(even.cut(chain_of(layers), stages));
  };
  CHECK(cut(4, 2) == Stages{{0, 1}, {2, 3}});
  CHECK(cut(7, 3) == Stages{{0, 1, 2}, {3, 4}, {5, 6}});
  CHECK(cut(3, 3) == Stages{{0}, {1}, {2}});
  CHECK_THROWS_WITH_AS(
      cut(2, 3), "2 layers cannot fill 3 stages: each stage needs at least one layer", InputError);
  // In the order of the edges, not of the numbers.
  CHECK(numbers(even.cut(model_of(4, {{3, 0}, {2, 1}}), 2)) == Stages{{2, 1}, {3, 0}});
}

TEST_CASE("every partitioner cuts into as many stages as asked, with each layer in one") {
  for (const PartitionerEntry* entry : partitioner_entries()) {
    CAPTURE(entry->name);
    for (const std::uint32_t layers : {1U, 2U, 5U, 12U}) {
      const ModelGraph model = chain_of(layers);
      for (std::uint32_t stages = 1; stages <= layers; ++stages) {
        const Partition partition = entry->cut(model, stages);
        CHECK(partition.stages.size() == stages);
        CHECK_NOTHROW(check_partition(model, partition));
        CHECK_NOTHROW(stage_sizes(model, partition));
      }
    }
  }
}

}  // namespace penstock
