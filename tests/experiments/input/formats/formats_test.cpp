#include <doctest/doctest.h>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/formats/graphs/layer_graph.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// Which of the recorded files are no model.
bool is_aside(const std::string& path) {
  return says(path, "/LICENSES/") || path.ends_with("optima.json");
}

ModelGraph graph_of(std::uint32_t layers,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  ModelGraph graph;
  graph.layers.resize(layers);
  for (std::uint32_t i = 0; i < layers; ++i) graph.layers[i].name = std::to_string(i);
  for (const auto& edge : edges) {
    graph.edges.emplace_back(LayerIndex{edge.first}, LayerIndex{edge.second});
  }
  return graph;
}

}  // namespace

TEST_CASE("formats: every recorded file of a model is recognized by one format, and reads") {
  for (const std::string& path : oracle_files("partition")) {
    if (is_aside(path)) continue;
    CAPTURE(path);
    const std::string text = read_file(path);
    CHECK(recognized_as(text) == parse_model_file(text).format);
  }
}

TEST_CASE("formats: a mark in front of a text, as some editors put it there, changes nothing") {
  for (const char* text :
       {R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100,
            "num_attention_heads": 2, "intermediate_size": 64})",
        "--num-layers 2 --hidden-size 64 --num-attention-heads 2 --vocab-size 100 "
        "--max-position-embeddings 64",
        "layer,examples,forward_us\na,1,2\n",
        "node1 -- a -- forward_compute_time=1, backward_compute_time=2, activation_size=4, "
        "parameter_size=8\n",
        R"({"penstock": 1, "profile": {"layers": [
            {"name": "a", "points": [{"examples": 1, "forward_us": 1}]}]}})"}) {
    CAPTURE(text);
    const ModelFile plain = parse_model_file(text);
    const ModelFile marked = parse_model_file(std::string("\xEF\xBB\xBF") + text);
    CHECK(marked.format == plain.format);
    CHECK(marked.spec.blocks.size() == plain.spec.blocks.size());
    CHECK(marked.graph.layers.size() == plain.graph.layers.size());
  }
}

TEST_CASE("formats: what is none of them is recognized by none") {
  for (const char* text :
       {"", " \n", "{", "{}", "[]", "null", "0F0,0B0\n", "node1 -- node2\n", "\177ELF\x02\x01",
        R"({"penstock": 1, "model": {}, "schedule": {"name": "1f1b"}})",
        R"({"notes": {"fpgas": [], "profile": {}, "maxDevices": 1, "maxFPGAs": 1}})",
        R"({"text": "\"profile\": {", "more": ["profile"]})", "layer,times\n"}) {
    CAPTURE(text);
    CHECK(recognized_as(text).empty());
  }
}

TEST_CASE("formats: a key counts only where it is a key of the outermost object") {
  CHECK(has_outer_key(R"( {"a": 1, "b" : 2})", "b"));
  CHECK(has_outer_key("\xEF\xBB\xBF{\"b\": 1}", "b"));
  CHECK(has_outer_key(R"({"a": {"x": "}"}, "b": )", "b"));
  CHECK(has_outer_key(R"({"a": "\\", "b": 1})", "b"));
  CHECK(!has_outer_key(R"({"a": "\", \"b\": 1"})", "b"));
  CHECK(!has_outer_key(R"({"a": {"b": 1}})", "b"));
  CHECK(!has_outer_key(R"({"a": "b"})", "b"));
  CHECK(!has_outer_key(R"({"a": 1} {"b": 1})", "b"));
  CHECK(!has_outer_key(R"([{"b": 1}])", "b"));
  CHECK(!has_outer_key(R"({"b)", "b"));
  CHECK(!has_outer_key(R"({"b")", "b"));
  CHECK(!has_outer_key("}}}}\"b\":", "b"));
}

TEST_CASE("formats: an edge of a cycle is one that leads back to where it came from") {
  CHECK(!edge_on_cycle(graph_of(3, {{0, 1}, {1, 2}, {0, 2}})));
  CHECK(!edge_on_cycle(graph_of(1, {})));
  CHECK(edge_on_cycle(graph_of(1, {{0, 0}})) == 0);
  // 0 feeds the cycle 1, 2; 3 and 4 stand behind it.
  const auto edge = edge_on_cycle(graph_of(5, {{0, 1}, {2, 3}, {1, 2}, {3, 4}, {2, 1}}));
  REQUIRE(edge);
  CHECK((*edge == 2 || *edge == 4));
}

TEST_CASE("formats: layers put in order stand behind their inputs, otherwise as they stood") {
  ModelGraph graph = graph_of(4, {{3, 1}, {1, 2}});
  const auto place = put_in_order(graph);
  // 0 and 3 are ready at once; 1 waits for 3, 2 for 1.
  CHECK(graph.layers[0].name == "0");
  CHECK(graph.layers[1].name == "3");
  CHECK(graph.layers[2].name == "1");
  CHECK(graph.layers[3].name == "2");
  CHECK(place[3] == LayerIndex{1});
  CHECK(graph.edges[0] == std::pair{LayerIndex{1}, LayerIndex{2}});
  CHECK(graph.edges[1] == std::pair{LayerIndex{2}, LayerIndex{3}});
}

}  // namespace penstock::testing
