#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/graphs/layer_graph.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::pipedream_graph_file {
namespace {

/// A node line of a PipeDream graph. The texts point into the file's text.
struct PipedreamNode {
  std::string_view id;
  std::string_view description;
  std::size_t line = 0;  // counted from 1
  double forward_ms = 0;
  double backward_ms = 0;
  double activation_bytes = 0;  // all of its outputs
  double parameter_bytes = 0;
  std::optional<std::uint32_t> stage;
};

/// An edge line. Its ends need not exist as nodes.
struct PipedreamEdge {
  std::string_view from;
  std::string_view to;
  std::size_t line = 0;
};

/// The lines of a file, in file order.
struct PipedreamLines {
  std::vector<PipedreamNode> nodes;
  std::vector<PipedreamEdge> edges;
};

constexpr std::string_view separator = " -- ";
constexpr std::string_view numbers_start = " -- forward_compute_time=";
constexpr std::string_view node_help =
    "a node reads \"ID -- DESCRIPTION -- forward_compute_time=MS, backward_compute_time=MS, "
    "activation_size=BYTES, parameter_size=BYTES\", with \" -- stage_id=N\" behind it or not";
constexpr std::string_view edge_help = "an edge reads \"<tab>FROM -- TO\"";

[[noreturn]] void fail(std::size_t line, const std::string& what) {
  throw InputError(fmt::format("line {}", line), what);
}

double number(std::size_t line, std::string_view name, std::string_view text, double most) {
  text = trimmed(text);
  const auto value = plain_number(text);
  if (value && *value >= 0 && *value <= most) return *value;
  fail(line, fmt::format("{} is \"{}\", not a number from 0 to {}", name, shortened(text), most));
}

/// A number, or the sum of a list of them: "[4; 8]".
double sum(std::size_t line, std::string_view name, std::string_view text, double most) {
  if (!text.starts_with('[') || !text.ends_with(']')) return number(line, name, text, most);
  text = text.substr(1, text.size() - 2);
  double all = 0;
  for (bool more = true; more;) {
    more = text.find(';') != std::string_view::npos;
    all += number(line, name, take_until(text, ';'), most);
  }
  return all;
}

std::uint32_t stage_number(std::size_t line, std::string_view text) {
  constexpr std::string_view key = "stage_id=";
  if (text.starts_with(key)) {
    const auto stage = whole_number<std::uint32_t>(trimmed(text.substr(key.size())));
    if (stage && *stage < Limits::stages) return *stage;
  }
  fail(line, fmt::format("\"{}\" is no stage; stage_id=N is one, N from 0 to {}", shortened(text),
                         Limits::stages - 1));
}

/// The next number of a node. The numbers have a fixed order.
std::string_view take_value(std::size_t line, std::string_view& rest, std::string_view name) {
  std::string_view part = trimmed(take_until(rest, ','));
  if (!part.starts_with(name) || !part.substr(name.size()).starts_with('=')) {
    fail(line, fmt::format("found \"{}\" instead of {}=; {}", shortened(part), name, node_help));
  }
  return part.substr(name.size() + 1);
}

PipedreamNode node_of(std::size_t line, std::string_view text, std::size_t numbers_at) {
  const std::size_t id_end = text.find(separator);
  PipedreamNode node{.id = trimmed(text.substr(0, id_end)), .line = line};
  if (id_end < numbers_at) {
    const std::size_t start = id_end + separator.size();
    node.description = trimmed(text.substr(start, numbers_at - start));
  }
  std::string_view rest = text.substr(numbers_at + separator.size());
  const std::size_t stage_at = rest.find(separator);
  if (stage_at != std::string_view::npos) {
    node.stage = stage_number(line, trimmed(rest.substr(stage_at + separator.size())));
    rest = rest.substr(0, stage_at);
  }
  const auto value = [&](std::string_view name) { return take_value(line, rest, name); };
  constexpr double longest_ms = Limits::time_us / 1000;
  node.forward_ms = number(line, "forward_compute_time", value("forward_compute_time"), longest_ms);
  node.backward_ms =
      number(line, "backward_compute_time", value("backward_compute_time"), longest_ms);
  node.activation_bytes = sum(line, "activation_size", value("activation_size"), Limits::bytes);
  node.parameter_bytes = number(line, "parameter_size", value("parameter_size"), Limits::bytes);
  if (!trimmed(rest).empty()) {
    fail(line, fmt::format("\"{}\" follows the node; {}", shortened(trimmed(rest)), node_help));
  }
  if (node.id.empty()) fail(line, fmt::format("the node has no id; {}", node_help));
  return node;
}

PipedreamEdge edge_of(std::size_t line, std::string_view text) {
  const std::size_t end = text.find(separator);
  PipedreamEdge edge{.from = trimmed(text.substr(0, end)), .to = {}, .line = line};
  if (end != std::string_view::npos) edge.to = trimmed(text.substr(end + separator.size()));
  if (edge.from.empty() || edge.to.empty() || edge.to.find(separator) != std::string_view::npos) {
    fail(line, fmt::format("\"{}\" is neither node nor edge; {}; {}", shortened(trimmed(text)),
                           node_help, edge_help));
  }
  return edge;
}

/// Reads each line on its own. Throws InputError whose place is "line N".
// A line with the numbers of a node is a node, at any indentation; all others are edges.
PipedreamLines read_pipedream_lines(std::string_view text) {
  constexpr std::size_t most_edges = std::size_t{4} * Limits::layers;
  PipedreamLines lines;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view content = take_line(text);
    if (trimmed(content).empty()) continue;
    const std::size_t numbers_at = content.rfind(numbers_start);
    if (numbers_at == std::string_view::npos) {
      lines.edges.push_back(edge_of(line, content));
    } else {
      lines.nodes.push_back(node_of(line, content, numbers_at));
    }
    if (lines.nodes.size() > Limits::layers || lines.edges.size() > most_edges) {
      fail(line,
           fmt::format("there are more than {} nodes or {} edges", Limits::layers, most_edges));
    }
  }
  if (lines.nodes.empty()) throw InputError(fmt::format("there are no nodes; {}", node_help));
  return lines;
}

/// The number at the end of an id: 12 of "node12".
std::uint64_t number_of_id(std::string_view id) {
  const std::size_t digits = id.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  return whole_number<std::uint64_t>(id.substr(digits)).value_or(UINT64_MAX);
}

/// Files list nodes in arbitrary order; their numbers follow the model.
void sort_by_number(std::vector<PipedreamNode>& nodes) {
  std::ranges::stable_sort(nodes, {},
                           [](const PipedreamNode& one) { return number_of_id(one.id); });
}

Layer layer_of(const PipedreamNode& node) {
  return {.name = node.description.empty() ? std::string(node.id)
                                           : fmt::format("{} {}", node.id, node.description),
          .source = fmt::format("line {}", node.line),
          .forward_us = node.forward_ms * 1000,
          .backward_us = node.backward_ms * 1000,
          .activation_bytes = node.activation_bytes,
          .stash_bytes = node.activation_bytes,
          .parameter_bytes = node.parameter_bytes};
}

using Ids = std::unordered_map<std::string_view, LayerIndex>;

Ids ids_of(const std::vector<PipedreamNode>& nodes) {
  Ids ids;
  for (const PipedreamNode& node : nodes) {
    const auto [same, added] =
        ids.emplace(node.id, LayerIndex{static_cast<std::uint32_t>(ids.size())});
    if (added) continue;
    const std::size_t other = nodes[index(same->second)].line;
    fail(std::max(node.line, other),
         fmt::format("node {} is already in line {}; each node has its own id", shortened(node.id),
                     std::min(node.line, other)));
  }
  return ids;
}

LayerIndex end_of(const Ids& ids, std::string_view id, std::size_t line) {
  const auto found = ids.find(id);
  if (found != ids.end()) return found->second;
  fail(line, fmt::format("no node is called {}; an edge joins two nodes", shortened(id)));
}

/// Layers in order of their numbers, edges in file order.
ModelGraph graph_of(const PipedreamLines& lines) {
  const Ids ids = ids_of(lines.nodes);
  ModelGraph graph;
  for (const PipedreamNode& node : lines.nodes) graph.layers.push_back(layer_of(node));
  for (const PipedreamEdge& edge : lines.edges) {
    graph.edges.emplace_back(end_of(ids, edge.from, edge.line), end_of(ids, edge.to, edge.line));
  }
  if (const auto wrong = edge_on_cycle(graph)) {
    const PipedreamEdge& edge = lines.edges[*wrong];
    fail(edge.line, fmt::format("the edge from {} to {} is part of a cycle; a model is a graph "
                                "without cycles",
                                shortened(edge.from), shortened(edge.to)));
  }
  return graph;
}

/// The layers of each stage, if an optimizer has written them.
std::vector<std::vector<LayerIndex>> stages_of(const std::vector<PipedreamNode>& nodes,
                                               const std::vector<LayerIndex>& place) {
  if (!std::ranges::any_of(nodes, [](const PipedreamNode& n) { return n.stage.has_value(); })) {
    return {};
  }
  std::vector<std::vector<LayerIndex>> stages;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PipedreamNode& node = nodes[i];
    if (!node.stage) fail(node.line, "the node has no stage_id, while others have one");
    if (*node.stage >= nodes.size()) {
      fail(node.line, fmt::format("stage_id={} is too large; {} nodes fill the stages 0 to {} at "
                                  "most",
                                  *node.stage, nodes.size(), nodes.size() - 1));
    }
    if (*node.stage >= stages.size()) stages.resize(*node.stage + 1);
    stages[*node.stage].push_back(place[i]);
  }
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    std::ranges::sort(stages[stage]);
    if (stages[stage].empty()) {
      throw InputError(
          fmt::format("no node has stage_id={}; stages are numbered from 0 without gaps", stage));
    }
  }
  return stages;
}

/// Notes on how times were measured, judging by all times of a file.
void add_time_notes(const std::vector<PipedreamNode>& nodes, std::vector<std::string>& notes) {
  double input_ms = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  for (const PipedreamNode& node : nodes) {
    (node.description.starts_with("Input") ? input_ms : forward_ms) += node.forward_ms;
    backward_ms += node.backward_ms;
  }
  if (input_ms > 0) {
    notes.push_back(
        fmt::format("the Input nodes take {:.6g} ms of the forward pass, which is what "
                    "loading data took; they count like any layer",
                    input_ms));
  }
  // A backward normally takes about twice as long as its forward.
  constexpr double suspicious = 5;
  if (forward_ms * suspicious < backward_ms) {
    notes.push_back(
        fmt::format("all forward passes together take {:.6g} ms, all backward passes "
                    "{:.6g} ms: forward times seem to be lost in this profile",
                    forward_ms, backward_ms));
  }
}

bool recognizes(std::string_view text) { return has_sign(text, false, {numbers_start}); }

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  PipedreamLines lines = read_pipedream_lines(checked_text(text));
  sort_by_number(lines.nodes);
  ModelFile file;
  file.graph = graph_of(lines);
  file.stages = stages_of(lines.nodes, put_in_order(file.graph));
  file.notes.emplace_back(
      "times and sizes are those of one whole profiled minibatch, which is taken as a microbatch");
  file.notes.emplace_back(
      "stash_bytes is each node's own activation_size: the format does not say what its backward "
      "needs");
  add_time_notes(lines.nodes, file.notes);
  return file;
}

}  // namespace

constinit extern const FormatEntry pipedream_graph_entry{
    .name = "pipedream-graph",
    .suffix = ".txt",
    .summary =
        "a profiled graph of layers of PipeDream or DAPPLE, with its stages or without; read",
    .recognizes = recognizes,
    .read_model = read_model};

}  // namespace penstock::pipedream_graph_file
