#include "schedules/partitioners/graph/layer_graph.hpp"

#include <algorithm>

namespace penstock {

LayerGraph graph_of(const CutProblem& problem) {
  LayerGraph graph;
  graph.readers.resize(problem.size());
  graph.inputs.resize(problem.size());
  for (const auto& [from, to] : problem.edges) {
    std::vector<std::uint32_t>& readers = graph.readers[from];
    if (std::find(readers.begin(), readers.end(), to) != readers.end()) continue;
    readers.push_back(to);
    graph.inputs[to].push_back(from);
  }
  return graph;
}

}  // namespace penstock
