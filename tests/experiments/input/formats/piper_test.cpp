#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"

namespace penstock::testing {
namespace {

std::string variant(const char* id, double time, double each, double once) {
  return fmt::format(R"({{ "id": "{}", "timePerSample": {}, "parameterSize": 40,
    "memoryUsageA": {}, "memoryUsageB": {}, "syncTimeFw": {{}}, "syncTimeBw": {{}} }})",
                     id, time, each, once);
}

std::string piper_graph(const std::string& first, const std::string& second) {
  return fmt::format(
      R"({{ "maxDevices": 2, "maxMemoryPerDevice": 1e9, "bandwidth": 1e9, "mbsInBatch": 8,
  "nodes": [ {{ "id": 4, "name": "embedding", "TMPCs": {{ "1": [ {} ], "2": [] }} }},
             {{ "id": 2, "name": "head", "TMPCs": {{ "1": [ {} ] }} }} ],
  "edges": [ {{ "sourceId": 4, "destId": 2, "communicationCost": 64 }} ] }})",
      first, second);
}

/// An embedding of 12 ms, 4 of them forward, as making it again shows; and a head of 6 ms.
const std::string plain = piper_graph(
    variant("vanilla", 0.012, 1000, 80) + ", " + variant("activation recomp", 0.016, 200, 880),
    variant("vanilla", 0.006, 500, 80));

std::string piper_with(const std::string& what, const std::string& by) {
  return refusal_of_model(replaced(plain, what, by));
}

}  // namespace

TEST_CASE("piper: layers have the variant vanilla without tensor parallelism") {
  const ModelFile file = parse_model_file(plain);
  CHECK(file.format == "piper");
  REQUIRE(file.graph.layers.size() == 2);
  const Layer& embedding = file.graph.layers[0];
  CHECK(embedding.name == "embedding");
  CHECK(embedding.source == "/nodes/0");
  CHECK(embedding.activation_bytes == 64);
  CHECK(embedding.stash_bytes == 1000);
  CHECK(embedding.parameter_bytes == 40);
  REQUIRE(file.graph.edges.size() == 1);
  CHECK(file.graph.edges[0] == std::pair{LayerIndex{0}, LayerIndex{1}});
  CHECK(file.layer_ids == std::vector<std::uint32_t>{4, 2});
}

TEST_CASE("piper: the forward pass is what making activations again adds, else a third") {
  const ModelFile file = parse_model_file(plain);
  CHECK(*file.graph.layers[0].forward_us == doctest::Approx(4000));
  CHECK(*file.graph.layers[0].backward_us == doctest::Approx(8000));
  CHECK(*file.graph.layers[1].forward_us == doctest::Approx(2000));
  CHECK(*file.graph.layers[1].backward_us == doctest::Approx(4000));
  CHECK(has_note(file, "of 1 layer the forward pass is assumed to take a third"));
  CHECK(has_note(file, "taken for seconds"));
}

TEST_CASE("piper: a variant that takes less time than vanilla tells no forward pass apart") {
  const ModelFile file = parse_model_file(replaced(plain, "0.016", "0.011"));
  CHECK(*file.graph.layers[0].forward_us == doctest::Approx(4000));
  CHECK(!file.graph.layers[0].selective.recompute_us);
  CHECK(has_note(file, "of 2 layers the forward pass is assumed"));
}

TEST_CASE("piper: selective recomputation gives a layer the costs of its other variant") {
  const ModelFile file = parse_model_file(plain);
  const Layer& embedding = file.graph.layers[0];
  CHECK(embedding.selective.recompute_us.value() == doctest::Approx(4000));
  CHECK(embedding.selective.stash_bytes == 200);
  CHECK(embedding.selective.recomputed_bytes == 800);
  CHECK(embedding.recompute_us == 0);
  CHECK(!file.graph.layers[1].selective.recompute_us);
}

TEST_CASE("piper: where a layer takes more than 1, times are milliseconds") {
  const ModelFile file = parse_model_file(replaced(plain, "0.006", "1.5"));
  CHECK(*file.graph.layers[1].forward_us == doctest::Approx(500));
  CHECK(has_note(file, "taken for milliseconds"));
}

TEST_CASE("piper: what does not fit is refused with its pointer") {
  CHECK(piper_with("\"timePerSample\": 0.012", "\"timePerSample\": -1") ==
        "/nodes/0/TMPCs/1/0/timePerSample: -1 is not a number from 0 to 1000000");
  CHECK(piper_with("\"timePerSample\": 0.012", "\"timePerSample\": 1e9")
            .starts_with("/nodes/0/TMPCs/1/0/timePerSample: 1000000000 is not "));
  CHECK(piper_with("\"timePerSample\": 0.012", "\"timePerSample\": null")
            .starts_with("/nodes/0/TMPCs/1/0/timePerSample: null is not "));
  CHECK(piper_with("\"memoryUsageA\": 1000,", "") ==
        "/nodes/0/TMPCs/1/0/memoryUsageA: \"memoryUsageA\" is missing");
  CHECK(piper_with("\"parameterSize\": 40", "\"parameterSize\": 1e300")
            .starts_with("/nodes/0/TMPCs/1/0/parameterSize: 1e+300 is not "));
  CHECK(piper_with("\"1\":", "\"4\":") == "/nodes/0/TMPCs/1: \"1\" is missing");
  CHECK(piper_with("\"TMPCs\"", "\"costs\"") == "/nodes/0/TMPCs: \"TMPCs\" is missing");
  CHECK(piper_with("\"id\": \"activation recomp\"", "\"id\": \"vanilla\"") ==
        "/nodes/0/TMPCs/1/1: \"vanilla\" appears twice");
  CHECK(piper_with("\"id\": \"vanilla\"", "\"id\": 1") == "/nodes/0/TMPCs/1/0/id: 1 is not a text");
  CHECK(piper_with("\"id\": 2", "\"id\": 4")
            .starts_with("/nodes/1/id: node 0 of the list has the id 4 "));
  CHECK(piper_with("\"destId\": 2", "\"destId\": 3") ==
        "/edges/0/destId: no node has the id 3; an edge joins two nodes");
  CHECK(piper_with("\"destId\": 2", "\"destId\": 4") ==
        "/edges/0: the edge is part of a cycle; a model is a graph without cycles");
  CHECK(piper_with("\"communicationCost\": 64", "\"communicationCost\": \"64\"")
            .starts_with("/edges/0/communicationCost: \"64\" is not "));
  CHECK(piper_with("\"nodes\": [", "\"nodes\": [], \"rest\": [") ==
        "/nodes: there are no nodes; one at least is needed");
  CHECK(piper_with("\"edges\"", "\"wires\"") == "/edges: \"edges\" is missing");
  CHECK(refusal_of_model(plain.substr(0, plain.size() - 20)).starts_with("line "));
}

TEST_CASE("piper: every recorded graph reads, and its totals are those of its vanilla variants") {
  for (const std::string& path : oracle_files("partition/piper")) {
    CAPTURE(path);
    const std::string text = read_file(path);
    const ModelFile file = parse_model_file(text);
    CHECK(file.format == "piper");
    double time = 0;
    double parameters = 0;
    double stash = 0;
    const auto document = nlohmann::json::parse(text);
    for (const auto& node : document["nodes"]) {
      for (const auto& variant : node["TMPCs"]["1"]) {
        if (variant["id"] != "vanilla") continue;
        time += variant["timePerSample"].get<double>();
        parameters += variant["parameterSize"].get<double>();
        stash += variant["memoryUsageA"].get<double>();
      }
    }
    std::map<int, double> output;  // the same on all edges out of a node
    for (const auto& edge : document["edges"]) {
      output[edge["sourceId"].get<int>()] = edge["communicationCost"].get<double>();
    }
    double activations = 0;
    for (const auto& entry : output) activations += entry.second;
    const ModelTotals totals = totals_of(file.graph);
    CHECK(file.graph.layers.size() == document["nodes"].size());
    CHECK(file.graph.edges.size() == document["edges"].size());
    // Times of GNMT are milliseconds: it is the profile that PipeDream has in milliseconds.
    CHECK(totals.forward_us + totals.backward_us == doctest::Approx(1000 * time).epsilon(1e-12));
    CHECK(totals.parameter_bytes == doctest::Approx(parameters).epsilon(1e-12));
    CHECK(totals.stash_bytes == doctest::Approx(stash).epsilon(1e-12));
    CHECK(totals.activation_bytes == doctest::Approx(activations).epsilon(1e-12));
  }
}

}  // namespace penstock::testing
