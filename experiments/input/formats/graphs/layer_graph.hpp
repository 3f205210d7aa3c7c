#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// The number of an edge on a cycle; nothing for an acyclic graph. Every edge must join existing
/// layers.
std::optional<std::size_t> edge_on_cycle(const ModelGraph& graph);

/// Sorts the layers of an acyclic graph topologically, as close to their original order as
/// possible, and renumbers the edges. Returns the new index of each layer.
std::vector<LayerIndex> put_in_order(ModelGraph& graph);

/// The ids of the nodes of a JSON graph.
class NodeIds {
 public:
  /// Adds the "id" of the next node. Throws InputError for a duplicate.
  void add(const JsonView& node);
  /// The node, in order of addition, that an edge names under `key`. Throws InputError for an
  /// unknown id.
  std::uint32_t named_by(const JsonView& edge, std::string_view key) const;
  /// In order of addition.
  const std::vector<std::uint32_t>& all() const { return ids_; }

 private:
  std::vector<std::uint32_t> ids_;
  std::unordered_map<std::uint32_t, std::uint32_t> positions_;
};

/// The "name" of a node, or one made from its id.
std::string name_of_node(const JsonView& node);

/// Sorts the layers of a model, and their ids, topologically. `edge_places` has the place of each
/// edge in the file, for the error about a cycle.
void put_model_in_order(ModelFile& file, const std::vector<std::string>& edge_places);

}  // namespace penstock
