#include <algorithm>
#include <numeric>

#include "schedules/partitioners/graph/ideal_space.hpp"
#include "schedules/partitioners/graph/layer_graph.hpp"

namespace penstock {
namespace {

using Order = std::vector<std::uint32_t>;

/// Kahn's algorithm; `choose` names the place of the next layer among those that are ready, in the
/// order in which they became so.
template <class Choose>
Order ordered(const LayerGraph& graph, Choose choose) {
  Order open(graph.size()), ready, order;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    open[i] = std::uint32_t(graph.inputs[i].size());
    if (open[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t place = choose(ready, order);
    const std::uint32_t layer = ready[place];
    ready.erase(ready.begin() + std::ptrdiff_t(place));
    order.push_back(layer);
    for (const std::uint32_t reader : graph.readers[layer]) {
      if (--open[reader] == 0) ready.push_back(reader);
    }
  }
  return order;
}

/// Adds the layer with the least boundary behind it.
Order narrow_order(const CutProblem& problem, const LayerGraph& graph) {
  Order unread(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    unread[i] = std::uint32_t(graph.readers[i].size());
  const auto growth = [&](std::uint32_t layer) {
    double bytes = unread[layer] > 0 ? problem.layers[layer].output_bytes : 0;
    for (const std::uint32_t input : graph.inputs[layer]) {
      if (unread[input] == 1) bytes -= problem.layers[input].output_bytes;
    }
    return bytes;
  };
  return ordered(graph, [&](const Order& ready, const Order& order) {
    if (!order.empty()) {
      for (const std::uint32_t input : graph.inputs[order.back()]) --unread[input];
    }
    const auto least = std::min_element(ready.begin(), ready.end(),
                                        [&](auto a, auto b) { return growth(a) < growth(b); });
    return std::size_t(least - ready.begin());
  });
}

/// Ancestors of each layer.
std::vector<LayerSet> ancestors(const LayerGraph& graph) {
  std::vector<LayerSet> all(graph.size(), LayerSet(graph.words(), 0));
  for (std::uint32_t layer = 0; layer < graph.size(); ++layer) {
    for (const std::uint32_t input : graph.inputs[layer]) {
      put(all[layer], input);
      for (std::uint32_t w = 0; w < graph.words(); ++w) all[layer][w] |= all[input][w];
    }
  }
  return all;
}

/// The ancestors of a layer that another layer than these or itself reads.
LayerSet read_elsewhere(const LayerGraph& graph, const LayerSet& ancestors, std::uint32_t layer) {
  LayerSet extra(graph.words(), 0);
  for (std::uint32_t one = 0; one < graph.size(); ++one) {
    if (!is_in(ancestors.data(), one)) continue;
    for (const std::uint32_t reader : graph.readers[one]) {
      if (reader != layer && !is_in(ancestors.data(), reader)) put(extra, one);
    }
  }
  return extra;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> several_orders(const CutProblem& problem) {
  const LayerGraph graph = graph_of(problem);
  Order given(graph.size());
  std::iota(given.begin(), given.end(), 0U);
  return {given, ordered(graph, [](const Order&, const Order&) { return std::size_t{0}; }),
          ordered(graph, [](const Order& ready, const Order&) { return ready.size() - 1; }),
          narrow_order(problem, graph)};
}

std::vector<double> published_boundaries(const CutProblem& problem, const IdealSpace& space) {
  const LayerGraph graph = graph_of(problem);
  const std::vector<LayerSet> before = ancestors(graph);
  std::vector<LayerSet> extra;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    extra.push_back(read_elsewhere(graph, before[i], i));
    put(extra.back(), i);
  }
  std::vector<double> bytes;
  for (std::uint32_t number = 0; number < space.size(); ++number) {
    LayerSet sent(graph.words(), 0);
    for (std::uint32_t layer = 0; layer < graph.size(); ++layer) {
      const auto& readers = graph.readers[layer];
      const bool inner = std::any_of(readers.begin(), readers.end(),
                                     [&](std::uint32_t r) { return space.has(number, r); });
      if (!space.has(number, layer) || inner) continue;
      for (std::uint32_t w = 0; w < graph.words(); ++w) sent[w] |= extra[layer][w];
    }
    double sum = 0;
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      if (is_in(sent.data(), i)) sum += problem.layers[i].output_bytes;
    }
    bytes.push_back(sum);
  }
  return bytes;
}

}  // namespace penstock
