#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "experiments/files/json_view.hpp"
#include "experiments/model_files/model_file.hpp"

namespace penstock {

/// The nodes of a graph in JSON by their ids.
class NodeIds {
 public:
  /// Takes the "id" of the next node. Throws InputError if another has it.
  void add(const JsonView& node);
  /// Which node, in order of addition, an edge names under a key. Throws InputError for none.
  std::uint32_t named_by(const JsonView& edge, std::string_view key) const;
  /// All ids, in order of addition.
  const std::vector<std::uint32_t>& all() const { return ids_; }

 private:
  std::vector<std::uint32_t> ids_;
  std::unordered_map<std::uint32_t, std::uint32_t> positions_;
};

/// The "name" of a node, or one made of its id where it has none.
std::string name_of_node(const JsonView& node);

/// Sorts the layers of a model, and their ids, so that each comes after its inputs. `edge_places`
/// is the place of each edge in the file, for the error of a cycle.
void put_model_in_order(ModelFile& file, const std::vector<std::string>& edge_places);

}  // namespace penstock
