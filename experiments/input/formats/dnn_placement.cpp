#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/limits.hpp"

namespace penstock::dnn_placement_file {
namespace {

using nlohmann::json;

/// Adds a stage for each device in the list that has nodes.
void add_stages(const JsonView& devices, std::set<std::uint32_t>& seen, ModelFile& file) {
  for (const JsonView& device : devices.items()) {
    std::vector<LayerIndex> nodes;
    for (const JsonView& item : device.at("nodes").items()) {
      const std::uint32_t node = item.whole(Limits::layers - 1);
      if (!seen.insert(node).second) {
        item.fail(fmt::format("node {} appears twice; a node is on one device", node));
      }
      nodes.push_back(LayerIndex{node});
    }
    if (!nodes.empty()) file.stages.push_back(std::move(nodes));
  }
}

bool recognizes(std::string_view text) {
  return has_outer_key(text, "fpgas") || has_outer_key(text, "maxLoad");
}

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  const json document = parse_json(text);
  const JsonView view(document);
  ModelFile file;
  std::set<std::uint32_t> seen;
  add_stages(view.at("fpgas"), seen, file);
  const std::size_t accelerators = file.stages.size();
  if (const auto hosts = view.find("cpus")) add_stages(*hosts, seen, file);
  if (file.stages.empty()) view.at("fpgas").fail("no device has nodes; one at least needs some");
  file.notes.emplace_back(
      "the layers of its stages are node ids of the graph that it places, backward nodes among "
      "them; its stages are the accelerators as listed, which need not be the order of the model");
  if (file.stages.size() > accelerators) {
    file.notes.push_back(
        fmt::format("CPUs have nodes too: the stages from {} on are theirs", accelerators));
  }
  return file;
}

}  // namespace

constinit extern const FormatEntry dnn_placement_entry{
    .name = "dnn-placement",
    .suffix = ".json",
    .summary =
        "which device has which nodes of a dnn-partitioning graph: a result, or an expert's "
        "choice; read",
    .recognizes = recognizes,
    .read_model = read_model,
    .place = "/partition/file"};

}  // namespace penstock::dnn_placement_file
