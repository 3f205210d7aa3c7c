#include "experiments/plan/cuts/planned_model.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "experiments/run/layout/layout.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/stated_times.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// The id and the description of a node of PipeDream: "node12 Conv2d(…)".
struct NodeName {
  std::uint64_t number = UINT64_MAX;
  std::string_view description;
};

NodeName node_name(std::string_view name) {
  const std::size_t space = std::min(name.find(' '), name.size());
  const std::string_view id = name.substr(0, space);
  const std::size_t digits = id.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  NodeName result;
  std::from_chars(id.data() + digits, id.data() + id.size(), result.number);
  if (space < name.size()) result.description = name.substr(space + 1);
  return result;
}

/// Sources that are inputs, then sinks that only unpack a tuple.
std::vector<bool> dropped_nodes(const ModelGraph& graph) {
  const std::size_t size = graph.layers.size();
  std::vector<bool> read(size, false), reads(size, false), dropped(size, false);
  for (const auto& [from, to] : graph.edges) {
    read[index(from)] = true;
    reads[index(to)] = true;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::string_view text = node_name(graph.layers[i].name).description;
    dropped[i] =
        (!reads[i] && text.starts_with("Input")) || (!read[i] && text.starts_with("__getitem__"));
  }
  return dropped;
}

ModelToCut model_of_profile(const ModelFile& file, const ModelGraph& graph) {
  std::vector<std::uint64_t> numbers;
  if (file.format == "pipedream-graph") {
    for (const Layer& layer : graph.layers) numbers.push_back(node_name(layer.name).number);
    return model_to_cut(graph, stated_us, numbers, dropped_nodes(graph));
  }
  numbers.assign(file.layer_ids.begin(), file.layer_ids.end());
  return model_to_cut(graph, stated_us, numbers);
}

json document_for(const PlannedModelRequest& request) {
  json model = {{"file", std::filesystem::absolute(request.path).string()}};
  if (!request.file.format.empty()) model["format"] = request.file.format;
  if (!request.file.architecture.empty()) model["arch"] = request.file.architecture;
  if (request.sequence) model["sequence"] = *request.sequence;
  if (request.microbatch) model["microbatch"] = *request.microbatch;
  return {{"penstock", 1},
          {"model", model},
          {"hardware", {{"name", request.hardware}}},
          {"parallel", {{"pipeline", 1}, {"chunks", 1}, {"tensor", request.tensor}, {"data", 1}}},
          {"schedule", {{"name", "1f1b"}, {"microbatches", 1}}}};
}

/// Prices layers by kind as a run on one rank does.
PlannedModel model_by_kind(const PlannedModelRequest& request) {
  if (request.hardware.empty()) {
    throw UsageError(
        fmt::format("{} gives layers by kind; --hardware says what runs them", request.path));
  }
  if (request.path == "-") {
    throw UsageError("a model by kind is read from a file here, not from standard input");
  }
  const Layout layout = settle(scenario_from(document_for(request), request.path));
  PlannedModel planned;
  planned.graph = layout.model;
  const auto hardware =
      find_named(cost_model_entries(), layout.hardware.cost_model)->make(layout.hardware.spec);
  planned.to_cut = model_to_cut(planned.graph, [&](const Layer& layer, Pass pass) {
    return hardware->compute_us(layer, pass);
  });
  const BytesPerParameter& kept = layout.memory.kept;
  if (kept.parameter > 0) {
    planned.to_cut.problem.state_factor =
        1 + kept.gradient / kept.parameter + kept.optimizer_factor();
  }
  planned.notes = layout.notes;
  return planned;
}

}  // namespace

PlannedModel planned_model(const PlannedModelRequest& request) {
  const ModelFile file = read_model_file(request.path, request.file);
  if (!file.spec.blocks.empty()) return model_by_kind(request);
  PlannedModel planned;
  planned.graph = graph_by_times(file, request.microbatch);
  if (planned.graph.edges.empty()) planned.graph.connect_as_chain();
  planned.to_cut = model_of_profile(file, planned.graph);
  planned.notes = file.notes;
  if (!planned.to_cut.problem.layers.empty()) return planned;
  throw InputError(
      fmt::format("{}: a file of the format {} has no layers to cut", request.path, file.format));
}

}  // namespace penstock
