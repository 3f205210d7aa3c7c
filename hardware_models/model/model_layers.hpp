#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"

namespace penstock {

/// Whether any layer of the model has experts.
bool has_experts(const ModelSpec& spec);

/// Whether a block stands at an end of a model or encoder: embeddings, heads, patches, mergers and
/// norms, or a measured layer that no even cut counts, since its kind says nothing. Recomputation
/// and offload of layers leave it alone.
bool is_at_an_end(const BlockSpec& block);

/// Whether blocks differ at most in names and places.
bool work_alike(const BlockSpec& one, const BlockSpec& other);

/// What of a block is recomputed before its backward.
enum class RecomputeScope : std::uint8_t {
  nothing,
  selected,      // what its kinds select, one block at a time
  blocks,        // all but the input of each block, one block at a time; nothing of those at an end
  whole_stages,  // all but the input of each stage, before the whole backward
};

/// With `selected`, the operators that are recomputed: kinds of layers, whose input is kept, and
/// operators inside layers (`NamedOperator`), such as "core_attention" for the scores of attention.
/// The output of a recomputed operator is not kept for the next one either.
using Operators = std::vector<std::string>;

/// The layer graph of a model: one layer per block, in a chain, with one device's share for a cell.
/// Throws InputError with a pointer below the source of a layer.
ModelGraph graph_of(const ModelSpec& spec, const CellShape& shape, RecomputeScope scope,
                    const Operators& operators = {"core_attention"});
/// The same for each scope, with the work of each block computed once.
std::vector<ModelGraph> graphs_of(const ModelSpec& spec, const CellShape& shape,
                                  const std::vector<RecomputeScope>& scopes,
                                  const Operators& operators = {"core_attention"});

/// With `blocks`, which layers of a stage are recomputed, and how.
struct RecomputedLayers {
  std::uint32_t first = UINT32_MAX;  // of each stage, without embedding and head; others keep all
  std::uint32_t together = 1;        // restored from the input of the first of them

  bool all_alone() const { return first == UINT32_MAX && together == 1; }
};

/// For `blocks`: recomputes only these layers. `whole` is the same model with `nothing`.
void recompute_layers(ModelGraph& model, const ModelGraph& whole, const Partition& partition,
                      const RecomputedLayers& recomputed);

/// For `whole_stages`: a stage keeps only the input of its first layer; everything else is
/// recomputed.
void keep_inputs_of_stages(ModelGraph& model, const Partition& partition);

/// The work of a whole block.
LayerWork work_of(const BlockSpec& block, const CellShape& shape,
                  const Operators& operators = {"core_attention"});

}  // namespace penstock
