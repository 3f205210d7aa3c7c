#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"

namespace penstock {

/// A way to cut a model into stages: one .cpp in this folder.
struct PartitionerEntry {
  std::string_view name;
  std::string_view summary;
  /// Cuts into exactly `stages` stages. Throws InputError when there are fewer layers.
  Partition (*cut)(const ModelGraph& model, std::uint32_t stages);
};

/// All partitioners, by name.
std::span<const PartitionerEntry* const> partitioner_entries();

}  // namespace penstock
