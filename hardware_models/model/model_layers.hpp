#pragma once

#include <cstdint>

#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"

namespace penstock {

/// What of a block is made again in front of its backward.
enum class Remaking : std::uint8_t {
  nothing,
  selected,      // what its kinds select, a block at a time
  blocks,        // all but the input of each block, a block at a time; embedding and head, which
                 // stand outside an even cut, keep what `selected` would
  whole_stages,  // all but the input of each stage, all of it before the backward
};

/// The blocks of a model, each a layer of the graph that feeds the next, with what one device has,
/// keeps and runs of it for a cell. Throws InputError with a pointer below the source of a layer.
ModelGraph graph_of(const ModelSpec& spec, const CellShape& shape, Remaking remaking);

/// With `whole_stages` a stage keeps the input of its first layer only: what the others keep moves
/// to what is made again.
void keep_inputs_of_stages(ModelGraph& model, const Partition& partition);

/// All parts of a block as one piece of work.
LayerWork work_of(const BlockSpec& block, const CellShape& shape);

}  // namespace penstock
