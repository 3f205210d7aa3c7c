#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/graphs/layer_graph.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/limits.hpp"

namespace penstock::piper_file {
namespace {

using nlohmann::json;

/// The costs of a node in one of its variants, with times as in the file.
struct Variant {
  double time = 0;  // forward and backward
  double parameter_bytes = 0;
  double bytes_each = 0;  // of memory, per microbatch in flight
  double bytes_once = 0;
};

struct Node {
  std::string name;
  std::string where;
  Variant vanilla;
  std::optional<Variant> recomputing;
};

Variant variant_of(const JsonView& view) {
  return {.time = view.at("timePerSample").number(0, Limits::time_us / 1e6),
          .parameter_bytes = view.at("parameterSize").number(0, Limits::bytes),
          .bytes_each = view.at("memoryUsageA").number(0, Limits::bytes),
          .bytes_once = view.at("memoryUsageB").number(0, Limits::bytes)};
}

/// The variants of a node without tensor parallelism.
Node node_of(const JsonView& view) {
  Node node{.name = name_of_node(view), .where = view.where(), .vanilla = {}, .recomputing = {}};
  const JsonView variants = view.at("TMPCs").at("1");
  bool found = false;
  for (const JsonView& variant : variants.items()) {
    const std::string& id = variant.at("id").text();
    if (id == "activation recomp") node.recomputing = variant_of(variant);
    if (id != "vanilla") continue;
    if (found) variant.fail("\"vanilla\" appears twice");
    node.vanilla = variant_of(variant);
    found = true;
  }
  if (!found) variants.fail("there is no variant with the id \"vanilla\"");
  return node;
}

/// Files use different time units and do not state them. Single layers above one second are
/// implausible, and so are models in which every layer takes less than a millisecond.
bool in_seconds(const std::vector<Node>& nodes) {
  return std::ranges::all_of(nodes, [](const Node& node) { return node.vanilla.time <= 1; });
}

/// The forward time is the difference that recomputation makes.
std::optional<double> measured_forward(const Node& node) {
  if (!node.recomputing) return std::nullopt;
  const double forward = node.recomputing->time - node.vanilla.time;
  if (forward < 0 || forward > node.vanilla.time) return std::nullopt;
  return forward;
}

Layer layer_of(const Node& node, double us) {
  Layer layer{.name = node.name, .source = node.where};
  const double forward = measured_forward(node).value_or(node.vanilla.time / 3);
  layer.forward_us = forward * us;
  layer.backward_us = (node.vanilla.time - forward) * us;
  layer.stash_bytes = node.vanilla.bytes_each;
  layer.parameter_bytes = node.vanilla.parameter_bytes;
  if (measured_forward(node)) {
    layer.selective.recompute_us = forward * us;
    layer.selective.stash_bytes = node.recomputing->bytes_each;
    layer.selective.recomputed_bytes =
        std::max(0.0, node.recomputing->bytes_once - node.vanilla.bytes_once);
  }
  return layer;
}

void add_notes(const std::vector<Node>& nodes, std::vector<std::string>& notes) {
  notes.push_back(
      fmt::format("times are taken for {} of one microbatch: the format does not say, and {}",
                  in_seconds(nodes) ? "seconds" : "milliseconds",
                  in_seconds(nodes) ? "no layer takes more than 1" : "a layer takes more than 1"));
  notes.emplace_back(
      "costs are those of the variant \"vanilla\" without tensor parallelism; selective "
      "recomputation gives those of \"activation recomp\"");
  const auto assumed = std::ranges::count_if(
      nodes, [](const Node& node) { return node.vanilla.time > 0 && !measured_forward(node); });
  if (assumed > 0) {
    notes.push_back(
        fmt::format("of {} the forward pass is assumed to take a third of the "
                    "time: no variant tells it apart",
                    counted(std::uint64_t(assumed), "layer")));
  }
  notes.emplace_back(
      "memoryUsageB counts parameters and their gradients; here memory.optimizer says what comes "
      "with parameterSize");
}

bool recognizes(std::string_view text) {
  return has_outer_key(text, "maxDevices") || has_outer_key(text, "maxMemoryPerDevice") ||
         has_outer_key(text, "mbsInBatch");
}

/// Adds an edge, and the output of its source, which is the same for all readers.
void connect(const JsonView& edge, const NodeIds& ids, ModelGraph& graph) {
  const LayerIndex from{ids.named_by(edge, "sourceId")};
  const LayerIndex to{ids.named_by(edge, "destId")};
  graph.edges.emplace_back(from, to);
  double& bytes = graph.layers[index(from)].activation_bytes;
  bytes = std::max(bytes, edge.at("communicationCost").number(0, Limits::bytes));
}

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  const json document = parse_json(text);
  const JsonView view(document);
  NodeIds ids;
  std::vector<Node> nodes;
  for (const JsonView& item : view.at("nodes").items()) {
    ids.add(item);
    nodes.push_back(node_of(item));
  }
  if (nodes.empty()) view.at("nodes").fail("there are no nodes; one at least is needed");
  ModelFile file{.layer_ids = ids.all()};
  const double us = in_seconds(nodes) ? 1e6 : 1e3;
  for (const Node& node : nodes) file.graph.layers.push_back(layer_of(node, us));
  std::vector<std::string> edge_places;
  for (const JsonView& edge : view.at("edges").items()) {
    connect(edge, ids, file.graph);
    edge_places.push_back(edge.where());
  }
  put_model_in_order(file, edge_places);
  add_notes(nodes, file.notes);
  return file;
}

}  // namespace

constinit extern const FormatEntry piper_entry{
    .name = "piper",
    .suffix = ".json",
    .summary =
        "a profiled graph of layers of Piper, one tensor-parallel degree and variant of it; read",
    .recognizes = recognizes,
    .read_model = read_model};

}  // namespace penstock::piper_file
