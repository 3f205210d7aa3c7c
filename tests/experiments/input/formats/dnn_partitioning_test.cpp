#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"

namespace penstock::testing {
namespace {

/// A node of 1000 bytes.
std::string node(int id, const char* name, double ms, bool backward, const std::string& more) {
  return fmt::format(R"({{ "id": {}, "name": "{}", "supportedOnFpga": 1, "cpuLatency": {},
    "fpgaLatency": {}, "isBackwardNode": {}, "size": 1000{} }})",
                     id, name, 10 * ms, ms, backward ? 1 : 0, more);
}

std::string graph(const std::vector<std::string>& nodes, const std::string& edges) {
  return fmt::format(R"({{ "maxSizePerFPGA": 16e9, "maxFPGAs": 2, "maxCPUs": 1,
  "nodes": [ {} ],
  "edges": [ {} ] }})",
                     fmt::join(nodes, ",\n  "), edges);
}

std::string edge(int from, int to, double bytes) {
  return fmt::format(R"({{ "sourceId": {}, "destId": {}, "cost": 1, "size": {} }})", from, to,
                     bytes);
}

/// A model of three forward nodes. 7 and 5 share a color with the backward node 70, of 8 ms; 3 has
/// 30, of 4 ms. The node 99, of 1 ms, has no color and hangs on 30. Stated backwards.
const std::string training = graph(
    {node(3, "c", 2, false, R"(, "colorClass": 2)"), node(5, "b", 3, false, R"(, "colorClass": 1)"),
     node(7, "a", 1, false, R"(, "colorClass": 1)"),
     node(30, "cgrad", 4, true, R"(, "colorClass": 2)"),
     node(70, "abgrad", 8, true, R"(, "colorClass": 1)"), node(99, "accumulate", 1, true, "")},
    edge(7, 5, 64) + "," + edge(5, 3, 32) + "," + edge(30, 70, 32) + "," + edge(3, 30, 16) + "," +
        edge(30, 99, 16));

std::string with(const std::string& what, const std::string& by) {
  return refusal_of_model(replaced(training, what, by));
}

using nlohmann::json;

/// Sums over a document, by walking it.
struct Sums {
  double ms = 0;
  double backward_ms = 0;
  double size = 0;
  double output = 0;
  std::size_t layers = 0;
  std::size_t edges = 0;
};

bool is_true(const json& value) { return value == true || value == 1; }

Sums sums_of(const json& document) {
  Sums sums;
  std::set<std::uint64_t> backward;
  for (const json& item : document["nodes"]) {
    sums.ms += item["fpgaLatency"].get<double>();
    sums.size += item["size"].get<double>();
    if (is_true(item["isBackwardNode"])) {
      backward.insert(item["id"].get<std::uint64_t>());
      sums.backward_ms += item["fpgaLatency"].get<double>();
    } else {
      ++sums.layers;
    }
  }
  std::map<std::uint64_t, double> output;
  for (const json& item : document["edges"]) {
    if (backward.contains(item["sourceId"].get<std::uint64_t>())) continue;
    if (backward.contains(item["destId"].get<std::uint64_t>())) continue;
    ++sums.edges;
    double& bytes = output[item["sourceId"].get<std::uint64_t>()];
    bytes = std::max(bytes, item["size"].get<double>());
  }
  for (const auto& entry : output) sums.output += entry.second;
  return sums;
}

}  // namespace

TEST_CASE("dnn-partitioning: forward nodes are the layers, in an order that their edges allow") {
  const ModelFile file = parse_model_file(training);
  CHECK(file.format == "dnn-partitioning");
  REQUIRE(file.graph.layers.size() == 3);
  CHECK(file.graph.layers[0].name == "a");
  CHECK(file.graph.layers[1].name == "b");
  CHECK(file.graph.layers[2].name == "c");
  CHECK(file.graph.layers[0].source == "/nodes/2");
  CHECK(file.layer_ids == std::vector<std::uint32_t>{7, 5, 3});
  REQUIRE(file.graph.edges.size() == 2);
  CHECK(file.graph.edges[0] == std::pair{LayerIndex{0}, LayerIndex{1}});
  CHECK(file.graph.edges[1] == std::pair{LayerIndex{1}, LayerIndex{2}});
  CHECK(file.graph.layers[0].activation_bytes == 64);
  CHECK(file.graph.layers[1].activation_bytes == 32);
  CHECK(file.graph.layers[2].activation_bytes == 0);
}

TEST_CASE("dnn-partitioning: forward nodes of a color share its backward nodes by their time") {
  const auto layers = parse_model_file(training).graph.layers;
  // a and b take 1 and 3 of 4 ms, so 2 and 6 of the 8 ms backward and of its 1000 bytes.
  CHECK(layers[0].forward_us == 1000);
  CHECK(layers[0].backward_us == 2000);
  CHECK(layers[0].parameter_bytes == 1250);
  CHECK(layers[1].forward_us == 3000);
  CHECK(layers[1].backward_us == 6000);
  CHECK(layers[1].parameter_bytes == 1750);
}

TEST_CASE("dnn-partitioning: a backward node without a color goes with the node it hangs on") {
  const Layer layer = parse_model_file(training).graph.layers[2];
  CHECK(layer.backward_us == 5000);
  CHECK(layer.parameter_bytes == 3000);
}

TEST_CASE("dnn-partitioning: forward nodes that take no time share equally") {
  const std::string idle = graph({node(0, "a", 0, false, R"(, "colorClass": 1)"),
                                  node(1, "b", 0, false, R"(, "colorClass": 1)"),
                                  node(2, "grad", 6, true, R"(, "colorClass": 1)")},
                                 edge(0, 1, 4));
  const auto layers = parse_model_file(idle).graph.layers;
  CHECK(layers[0].backward_us == 3000);
  CHECK(layers[1].backward_us == 3000);
}

TEST_CASE("dnn-partitioning: a model for inference has no backward times") {
  const ModelFile file = parse_model_file(
      graph({node(0, "a", 1, false, ""), node(1, "b", 1, false, "")}, edge(0, 1, 4)));
  CHECK(!file.graph.layers[0].backward_us);
  CHECK(has_note(file, "for inference"));
  CHECK(!has_note(parse_model_file(training), "for inference"));
}

TEST_CASE("dnn-partitioning: what accelerators cannot run takes its time on a CPU, and is noted") {
  const ModelFile file =
      parse_model_file(replaced(training, "\"supportedOnFpga\": 1", "\"supportedOnFpga\": false"));
  CHECK(file.graph.layers[2].forward_us == 20000);
  CHECK(has_note(file, "1 node runs on CPUs only"));
}

TEST_CASE("dnn-partitioning: an edge without a size has that of its cost at 2 GiB/s") {
  const ModelFile file =
      parse_model_file(replaced(training, R"("cost": 1, "size": 64)", R"("cost": 500)"));
  CHECK(file.graph.layers[0].activation_bytes == doctest::Approx(1073741824));
  CHECK(has_note(file, "1 edge has a cost and no size"));
}

TEST_CASE("dnn-partitioning: what does not fit is refused with its pointer") {
  CHECK(with("\"fpgaLatency\": 2", "\"fpgaLatency\": -2") ==
        "/nodes/0/fpgaLatency: -2 is not a number from 0 to 1000000000");
  CHECK(with("\"fpgaLatency\": 2", "\"fpgaLatency\": \"2\"")
            .starts_with("/nodes/0/fpgaLatency: \"2\" is not "));
  CHECK(with("\"fpgaLatency\": 2,", "") == "/nodes/0/fpgaLatency: \"fpgaLatency\" is missing");
  CHECK(with("\"size\": 1000", "\"size\": 1e19").starts_with("/nodes/0/size: 1e+19 is not "));
  CHECK(with("\"id\": 5", "\"id\": 3") ==
        "/nodes/1/id: node 0 of the list has the id 3 already; each node has its own");
  CHECK(with("\"id\": 5", "\"id\": 4294967296").starts_with("/nodes/1/id: 4294967296 is not "));
  CHECK(with("\"id\": 5,", "") == "/nodes/1/id: \"id\" is missing");
  CHECK(with("\"isBackwardNode\": 0", "\"isBackwardNode\": 2") ==
        "/nodes/0/isBackwardNode: 2 is not true, false, 1 or 0");
  CHECK(with("\"colorClass\": 2", "\"colorClass\": [2]") ==
        "/nodes/0/colorClass: a list is not a whole number from 0 to 4294967295");
  CHECK(with("\"name\": \"c\"", "\"name\": 3").starts_with("/nodes/0/name: 3 is not "));
  CHECK(with("\"nodes\"", "\"knots\"") == "/nodes: \"nodes\" is missing");
  CHECK(with("\"edges\"", "\"wires\"") == "/edges: \"edges\" is missing");
  CHECK(refusal_of_model(graph({}, "")) == "/nodes: there are no nodes; one at least is needed");
  CHECK(refusal_of_model(graph({"[1]"}, "")) == "/nodes/0: a list is not an object");
}

TEST_CASE("dnn-partitioning: a graph that is none is refused with the pointer of an edge or node") {
  CHECK(with("\"destId\": 5", "\"destId\": 6") ==
        "/edges/0/destId: no node has the id 6; an edge joins two nodes");
  CHECK(with("\"sourceId\": 7, ", "") == "/edges/0/sourceId: \"sourceId\" is missing");
  CHECK(with(edge(7, 5, 64), edge(7, 5, 64) + "," + edge(5, 7, 1))
            .ends_with(": the edge is part of a cycle; a model is a graph without cycles"));
  CHECK(with(edge(7, 5, 64), edge(7, 7, 64)) ==
        "/edges/0: the edge is part of a cycle; a model is a graph without cycles");
  CHECK(with(edge(3, 30, 16), edge(30, 3, 16)) ==
        "/edges/3: a backward node feeds a forward node; gradients go to backward nodes only");
  CHECK(
      with(edge(30, 99, 16), edge(30, 70, 16)) ==
      "/nodes/5: the backward node belongs to no forward node; it needs the colorClass of one, or "
      "edges that lead to one");
  CHECK(refusal_of_model(training.substr(0, training.size() / 2)).starts_with("line "));
}

TEST_CASE("dnn-partitioning: every recorded graph reads, and its totals are those of its nodes") {
  for (const char* folder : {"throughput-inputs", "latency-inputs"}) {
    for (const std::string& path :
         oracle_files(std::string("partition/dnn-partitioning/") + folder)) {
      CAPTURE(path);
      const std::string text = read_file(path);
      const ModelFile file = parse_model_file(text);
      CHECK(file.format == "dnn-partitioning");
      const Sums sums = sums_of(json::parse(text));
      const ModelTotals totals = totals_of(file.graph);
      CHECK(file.graph.layers.size() == sums.layers);
      CHECK(file.graph.edges.size() == sums.edges);
      const auto same = [](double one, double other) {
        CHECK(one == doctest::Approx(other).epsilon(1e-12));
      };
      same(totals.forward_us + totals.backward_us, 1000 * sums.ms);
      same(totals.backward_us, 1000 * sums.backward_ms);
      same(totals.parameter_bytes, sums.size);
      same(totals.activation_bytes, sums.output);
    }
  }
}

}  // namespace penstock::testing
