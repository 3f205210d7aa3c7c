#include "experiments/input/formats/graphs/pipedream_lines.hpp"

#include <fmt/format.h>

#include <charconv>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

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
  std::uint32_t stage = 0;
  if (text.starts_with(key)) {
    const std::string_view digits = trimmed(text.substr(key.size()));
    const char* end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, stage);
    if (result.ec == std::errc{} && result.ptr == end && stage < Limits::stages) return stage;
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
  if (end == std::string_view::npos) {
    fail(line, fmt::format("\"{}\" is neither node nor edge; {}; {}", shortened(trimmed(text)),
                           node_help, edge_help));
  }
  const PipedreamEdge edge{trimmed(text.substr(0, end)),
                           trimmed(text.substr(end + separator.size())), line};
  if (edge.from.empty() || edge.to.empty() || edge.to.find(separator) != std::string_view::npos) {
    fail(line, fmt::format("\"{}\" is neither node nor edge; {}; {}", shortened(trimmed(text)),
                           node_help, edge_help));
  }
  return edge;
}

}  // namespace

bool has_pipedream_node(std::string_view text) {
  return text.find(numbers_start) != std::string_view::npos;
}

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

}  // namespace penstock
