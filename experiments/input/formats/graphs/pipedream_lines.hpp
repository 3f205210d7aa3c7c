#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace penstock {

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

/// Whether a text contains the numbers of a node.
bool has_pipedream_node(std::string_view text);

/// Reads each line on its own. Throws InputError whose place is "line N".
PipedreamLines read_pipedream_lines(std::string_view text);

}  // namespace penstock
