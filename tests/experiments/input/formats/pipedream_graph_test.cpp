#include <doctest/doctest.h>
#include <fmt/format.h>

#include <regex>

#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"

namespace penstock::testing {
namespace {

/// A node with 1.5 ms forward and 2.5 ms backward, 64 bytes out and 8 bytes of parameters.
std::string pipedream_graph_node(const std::string& id, const std::string& description) {
  return fmt::format(
      "{} -- {} -- forward_compute_time=1.500, backward_compute_time=2.500, "
      "activation_size=64.000, "
      "parameter_size=8.000\n",
      id, description);
}

/// node2 feeds node10 twice: itself, and through node3. Edges stand in front, nodes out of order.
const std::string diamond =
    "\tnode2 -- node3\n\tnode3 -- node10\n\tnode2 -- node10\n" +
    pipedream_graph_node("node10", "Linear(in_features=4, out_features=2)") +
    pipedream_graph_node("node3", "ReLU(inplace)") + pipedream_graph_node("node2", "Conv2d(3, 64)");

std::string edges_text(const ModelGraph& graph) {
  std::string text;
  for (const auto& edge : graph.edges) {
    text += fmt::format("{}{}>{}", text.empty() ? "" : " ", index(edge.first), index(edge.second));
  }
  return text;
}

/// The sum of what a pattern captures in a text, numbers in a list one by one.
double sum_of(const std::string& text, const std::string& key) {
  const std::regex value(key + R"(=\[?([0-9.; ]+))");
  const std::regex number("[0-9.]+");
  double sum = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), value), end; at != end; ++at) {
    const std::string list = (*at)[1];
    for (std::sregex_iterator one(list.begin(), list.end(), number); one != end; ++one) {
      sum += std::stod(one->str());
    }
  }
  return sum;
}

std::size_t count_of(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

}  // namespace

TEST_CASE("pipedream-graph: layers stand in order of their numbers, each behind its inputs") {
  const ModelFile file = parse_model_file(diamond);
  CHECK(file.format == "pipedream-graph");
  REQUIRE(file.graph.layers.size() == 3);
  CHECK(file.graph.layers[0].name == "node2 Conv2d(3, 64)");
  CHECK(file.graph.layers[1].name == "node3 ReLU(inplace)");
  CHECK(file.graph.layers[2].name == "node10 Linear(in_features=4, out_features=2)");
  CHECK(file.graph.layers[0].source == "line 6");
  CHECK(edges_text(file.graph) == "0>1 1>2 0>2");
  CHECK(file.stages.empty());
}

TEST_CASE("pipedream-graph: an input with a larger number than its reader still stands in front") {
  const ModelFile file =
      parse_model_file(pipedream_graph_node("node1", "Add") +
                       pipedream_graph_node("node7", "Conv") + "\tnode7 -- node1\n");
  CHECK(file.graph.layers[0].name == "node7 Conv");
  CHECK(edges_text(file.graph) == "0>1");
}

TEST_CASE("pipedream-graph: milliseconds become microseconds, and an output is what is stashed") {
  const Layer layer = parse_model_file(pipedream_graph_node("node1", "Conv")).graph.layers.at(0);
  CHECK(layer.forward_us == 1500);
  CHECK(layer.backward_us == 2500);
  CHECK(layer.activation_bytes == 64);
  CHECK(layer.stash_bytes == 64);
  CHECK(layer.parameter_bytes == 8);
}

TEST_CASE("pipedream-graph: the sizes of several outputs add up") {
  const std::string text =
      replaced(pipedream_graph_node("node1", "LSTM(4, 4)"), "64.000", "[64.0; 8; 4.5]");
  CHECK(parse_model_file(text).graph.layers.at(0).activation_bytes == 76.5);
}

TEST_CASE(
    "pipedream-graph: edges may be indented by blanks or not at all, lines end in either way") {
  const std::string nodes = pipedream_graph_node("a", "Conv") + pipedream_graph_node("b", "ReLU") +
                            pipedream_graph_node("c", "Add");
  for (const char* edges : {"\ta -- b\n\tb -- c\n", "    a -- b\n \t b -- c", "a -- b\nb -- c\n",
                            "\ta -- b\r\n\tb -- c\r\n", "\n\ta -- b\n\n\n\tb -- c\n  \n"}) {
    CAPTURE(edges);
    CHECK(edges_text(parse_model_file(nodes + edges).graph) == "0>1 1>2");
  }
}

TEST_CASE("pipedream-graph: whole numbers and zero times are numbers like others") {
  const ModelFile file = parse_model_file(
      "node1 -- Add -- forward_compute_time=0, backward_compute_time=0, activation_size=4096, "
      "parameter_size=0");
  CHECK(file.graph.layers.at(0).backward_us == 0);
  CHECK(file.graph.layers.at(0).activation_bytes == 4096);
}

TEST_CASE("pipedream-graph: stage ids are the stages, by the places that layers get") {
  const auto in_stage = [](std::string text, int stage) {
    return replaced(std::move(text), "8.000\n", fmt::format("8.000 -- stage_id={}\n", stage));
  };
  const ModelFile file = parse_model_file(in_stage(pipedream_graph_node("node9", "Linear"), 1) +
                                          in_stage(pipedream_graph_node("node2", "ReLU"), 0) +
                                          in_stage(pipedream_graph_node("node1", "Conv"), 0));
  CHECK(file.stages == StageLayers{{LayerIndex{0}, LayerIndex{1}}, {LayerIndex{2}}});
}

TEST_CASE("pipedream-graph: lost forward times and the time of loading data are noted") {
  const ModelFile plain = parse_model_file(diamond);
  CHECK(has_note(plain, "own activation_size"));
  CHECK(!has_note(plain, "lost"));
  CHECK(!has_note(plain, "loading"));
  // 3 * 0.1 ms forward against 3 * 2.5 ms backward.
  const std::string lost = std::regex_replace(diamond, std::regex("=1.500"), "=0.100");
  CHECK(has_note(parse_model_file(lost),
                 "all forward passes together take 0.3 ms, all backward "
                 "passes 7.5 ms"));
  CHECK(has_note(parse_model_file(pipedream_graph_node("node1", "Input0") +
                                  pipedream_graph_node("node2", "Conv")),
                 "the Input nodes take 1.5 ms"));
}

TEST_CASE("pipedream-graph: what does not fit is refused with its line") {
  const auto without = [](const std::string& what, const std::string& by) {
    return refusal_of_model(replaced(diamond, what, by));
  };
  CHECK(without("=1.500", "=-1.5") ==
        "line 4: forward_compute_time is \"-1.5\", not a number from 0 to 1000000000");
  CHECK(without("=2.500", "=nan")
            .starts_with("line 4: backward_compute_time is \"nan\", not a number"));
  CHECK(without("=64.000", "=inf").starts_with("line 4: activation_size is \"inf\", not a number"));
  CHECK(without("=64.000", "=1e300")
            .starts_with("line 4: activation_size is \"1e300\", not a number"));
  CHECK(without("=64.000", "=[]").starts_with("line 4: activation_size is \"\", not a number"));
  CHECK(
      without("=64.000", "=[1; x]").starts_with("line 4: activation_size is \"x\", not a number"));
  CHECK(without("=64.000", "=[1; 2")
            .starts_with("line 4: activation_size is \"[1; 2\", not a number"));
  CHECK(
      without("=8.000", "=8.0.0").starts_with("line 4: parameter_size is \"8.0.0\", not a number"));
  CHECK(without(", backward", ", sideways")
            .starts_with("line 4: found \"sideways_compute_time=2.500\" instead of "
                         "backward_compute_time=; a node reads \"ID -- "));
  CHECK(without("=8.000", "=8, more=1").starts_with("line 4: \"more=1\" follows the node; "));
  CHECK(without("=8.000", "=8.000 -- stage=1").starts_with("line 4: \"stage=1\" is no stage; "));
  CHECK(without("=8.000", "=8.000 -- stage_id=-1").starts_with("line 4: \"stage_id=-1\" is no "));
  CHECK(without("=8.000", "=8 -- stage_id=99999999999").starts_with("line 4: \"stage_id=9999"));
  CHECK(without("node10 -- Lin", " -- Lin").starts_with("line 4: the node has no id; "));
}

TEST_CASE("pipedream-graph: a graph that is none is refused with the line of an edge or node") {
  CHECK(refusal_of_model(replaced(diamond, "node2 -- node10", "node2 -- node11")) ==
        "line 3: no node is called node11; an edge joins two nodes");
  CHECK(refusal_of_model(diamond + pipedream_graph_node("node3", "ReLU")) ==
        "line 7: node node3 is already in line 5; each node has its own id");
  CHECK(refusal_of_model(diamond + "\tnode10 -- node10\n") ==
        "line 7: the edge from node10 to node10 is part of a cycle; a model is a graph without "
        "cycles");
  // node3 and node10 feed each other; node11 behind them is on no cycle.
  const std::string text = refusal_of_model(diamond + pipedream_graph_node("node11", "Add") +
                                            "\tnode10 -- node11\n\tnode10 -- node3\n");
  const bool named = text.starts_with("line 2: the edge from node3 to node10 is part of a cycle") ||
                     text.starts_with("line 9: the edge from node10 to node3 is part of a cycle");
  CHECK_MESSAGE(named, text);
  CHECK(
      refusal_of_model(diamond + "\tnode10\n").starts_with("line 7: \"node10\" is neither node "));
  CHECK(
      refusal_of_model(diamond + "\ta -- b -- c\n").starts_with("line 7: \"a -- b -- c\" is neit"));
  CHECK(refusal_of_model("\ta -- b\n", "pipedream-graph").starts_with("there are no nodes; "));
  CHECK(refusal_of_model("", "pipedream-graph").starts_with("there are no nodes; "));
}

TEST_CASE("pipedream-graph: stages are those of all nodes, without gaps") {
  const auto staged = [](const std::string& first, const std::string& second) {
    return refusal_of_model(replaced(pipedream_graph_node("a", "Conv"), "8.000", "8.000" + first) +
                            replaced(pipedream_graph_node("b", "ReLU"), "8.000", "8.000" + second));
  };
  CHECK(staged(" -- stage_id=0", " -- stage_id=1") == "accepted");
  CHECK(staged(" -- stage_id=0", "") == "line 2: the node has no stage_id, while others have one");
  CHECK(staged(" -- stage_id=1", " -- stage_id=1") ==
        "no node has stage_id=0; stages are numbered from 0 without gaps");
  CHECK(staged(" -- stage_id=0", " -- stage_id=60000") ==
        "line 2: stage_id=60000 is too large; 2 nodes fill the stages 0 to 1 at most");
}

TEST_CASE("pipedream-graph: bytes that are no text are refused with their line") {
  const std::string nodes = pipedream_graph_node("a", "Conv");
  CHECK(refusal_of_model(nodes + std::string("\tb\0c", 4)) ==
        "line 2: byte 0x00 is not UTF-8 text");
  CHECK(refusal_of_model(nodes + "\xFF\xFE") == "line 2: byte 0xFF is not UTF-8 text");
  CHECK(refusal_of_model("\xEF\xBB\xBF" + replaced(nodes, "Conv", "Größe")) == "accepted");
  CHECK(refusal_of_model(replaced(nodes, "Conv", "cut \xE2\x82")).starts_with("line 1: byte 0x"));
}

TEST_CASE("pipedream-graph: every recorded graph reads, and its totals are those of its text") {
  for (const std::string& path : oracle_files("partition/pipedream")) {
    CAPTURE(path);
    const std::string text = read_file(path);
    const ModelFile file = parse_model_file(text);
    CHECK(file.format == "pipedream-graph");
    CHECK(file.graph.layers.size() == count_of(text, "forward_compute_time="));
    CHECK(file.graph.edges.size() == count_of(text, "(^|\n)\\s+\\S+ -- "));
    const ModelTotals totals = totals_of(file.graph);
    const auto same = [](double one, double other) {
      CHECK(one == doctest::Approx(other).epsilon(1e-12));
    };
    same(totals.forward_us, 1000 * sum_of(text, "forward_compute_time"));
    same(totals.backward_us, 1000 * sum_of(text, "backward_compute_time"));
    same(totals.activation_bytes, sum_of(text, "activation_size"));
    same(totals.parameter_bytes, sum_of(text, "parameter_size"));
    std::size_t staged = 0;
    for (const auto& stage : file.stages) staged += stage.size();
    CHECK(staged == count_of(text, "stage_id="));
  }
}

}  // namespace penstock::testing
