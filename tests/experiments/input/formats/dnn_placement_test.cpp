#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "sim/base/error.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

/// Two accelerators with nodes, one without, and a CPU with one node.
const std::string placed_graph = R"({
  "cpus": [ {"load": 0.5, "nodes": [4]} ],
  "fpgas": [ {"load": 3, "nodes": [2, 1]}, {"load": 0, "nodes": []}, {"load": -1, "nodes": [3]} ],
  "maxLoad": 3 })";

std::string dnn_placement_with(const std::string& what, const std::string& by) {
  return refusal_of_model(replaced(placed_graph, what, by));
}

/// Why a placement does not fit a model of two layers with the ids 10 and 20; "accepted" if it
/// does.
std::string fit_of(const StageLayers& stages, bool ids) {
  const ModelFile cut{.stages = stages};
  ModelFile model;
  model.graph.layers.resize(2);
  if (ids) model.layer_ids = {10, 20};
  return refused_with<InputError>([&] { placed_layers(cut, model); });
}

}  // namespace

TEST_CASE("dnn-placement: each device with nodes is a stage, accelerators first") {
  const ModelFile file = parse_model_file(placed_graph);
  CHECK(file.format == "dnn-placement");
  CHECK(file.stages ==
        StageLayers{{LayerIndex{2}, LayerIndex{1}}, {LayerIndex{3}}, {LayerIndex{4}}});
  CHECK(has_note(file, "the stages from 2 on are theirs"));
  CHECK(!has_note(parse_model_file(replaced(placed_graph, "[4]", "[]")), "CPUs have nodes"));
}

TEST_CASE("dnn-placement: what does not fit is refused with its pointer") {
  CHECK(dnn_placement_with("[3]", "[1]") ==
        "/fpgas/2/nodes/0: node 1 appears twice; a node is on one device");
  CHECK(dnn_placement_with("[4]", "[3]") ==
        "/cpus/0/nodes/0: node 3 appears twice; a node is on one device");
  CHECK(dnn_placement_with("[3]", "[-3]").starts_with("/fpgas/2/nodes/0: -3 is not a whole"));
  CHECK(dnn_placement_with("[3]", "[1000000000]")
            .starts_with("/fpgas/2/nodes/0: 1000000000 is not "));
  CHECK(dnn_placement_with("[3]", "[3.5]").starts_with("/fpgas/2/nodes/0: 3.5 is not "));
  CHECK(dnn_placement_with("[3]", "[\"3\"]").starts_with("/fpgas/2/nodes/0: \"3\" is not "));
  CHECK(dnn_placement_with("[3]", "3") == "/fpgas/2/nodes: 3 is not a list");
  CHECK(dnn_placement_with("\"nodes\": [3]", "\"knots\": [3]") ==
        "/fpgas/2/nodes: \"nodes\" is missing");
  CHECK(dnn_placement_with("\"fpgas\"", "\"tpus\"") == "/fpgas: \"fpgas\" is missing");
  CHECK(refusal_of_model(R"({"fpgas": []})") ==
        "/fpgas: no device has nodes; one at least needs some");
  CHECK(refusal_of_model(R"({"fpgas": {"0": [1]}})") == "/fpgas: an object is not a list");
  CHECK(refusal_of_model(R"({"fpgas": [7]})") == "/fpgas/0: 7 is not an object");
  CHECK(refusal_of_model(placed_graph.substr(0, 70)).starts_with("line 3, column "));
}

TEST_CASE("placed layers: stages by ids become stages by layers, backward nodes left out") {
  const ModelFile cut{
      .stages = {{LayerIndex{20}, LayerIndex{21}}, {LayerIndex{11}, LayerIndex{10}}}};
  ModelFile model;
  model.graph.layers.resize(2);
  model.layer_ids = {10, 20};
  CHECK(placed_layers(cut, model) == StageLayers{{LayerIndex{1}}, {LayerIndex{0}}});
}

TEST_CASE("placed layers: a cut that is not one of the model is refused") {
  CHECK(fit_of({{LayerIndex{10}}, {LayerIndex{20}}}, true) == "accepted");
  CHECK(fit_of({{LayerIndex{0}, LayerIndex{1}}}, false) == "accepted");
  CHECK(fit_of({{LayerIndex{10}}}, true) == "layer 1 () is in no stage");
  CHECK(fit_of({{LayerIndex{10}, LayerIndex{20}}, {LayerIndex{11}}}, true) ==
        "stage 1 has no layer of the model");
  CHECK(fit_of({{LayerIndex{0}, LayerIndex{1}, LayerIndex{2}}}, false) ==
        "stage 0 has the layer 2; the model has 2 layers");
}

TEST_CASE("dnn-placement: every recorded expert's choice reads, and places all of its graph") {
  for (const std::string& path : oracle_files("partition/dnn-partitioning/human-experts")) {
    CAPTURE(path);
    const std::string text = read_file(path);
    const ModelFile file = parse_model_file(text);
    CHECK(file.format == "dnn-placement");
    const auto document = nlohmann::json::parse(text);
    std::size_t nodes = 0;
    for (const auto& device : document["fpgas"]) nodes += device["nodes"].size();
    std::size_t read = 0;
    for (const auto& stage : file.stages) read += stage.size();
    CHECK(read == nodes);
    std::string graph = replaced(path, "human-experts", "throughput-inputs/LayerGraphs");
    graph = replaced(graph, "_expert", "");
    const ModelFile model = read_model_file(graph);
    std::size_t placed = 0;
    for (const auto& stage : placed_layers(file, model)) placed += stage.size();
    CHECK(placed == model.graph.layers.size());
  }
}

}  // namespace penstock::testing
