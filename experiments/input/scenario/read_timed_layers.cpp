#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/scenario/model_section.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

}  // namespace

const Fields& fields_of(const Layer& /*layer*/) {
  using L = Layer;
  using S = SelectiveRecomputation;
  static const Fields fields{
      "cost of a stage or layer for one cell",
      {field<&L::name>("name", text()), repeat(),
       field<&L::module>("module", text(), "the part of the model that it belongs to: see modules"),
       cost(field<&L::forward_us>("forward_us", time_us())),
       cost(field<&L::backward_us>("backward_us", time_us())),
       cost(field<&L::backward_input_us>("backward_input_us", time_us())),
       cost(field<&L::backward_weight_us>("backward_weight_us", time_us())),
       field<&L::recompute_us>("recompute_us", time_us()),
       field<&L::exchange_us>("exchange_us", time_us(),
                              "all-to-all of what it puts out, before the next layer reads it, and "
                              "of the gradient back; on its own where a stage ends here and the "
                              "next is on the same rank, else part of its passes"),
       cost(field<&L::activation_bytes>("activation_bytes", bytes())),
       cost(field<&L::stash_bytes>("stash_bytes", bytes())),
       field<&L::parameter_bytes>("parameter_bytes", bytes()),
       field<&L::recomputed_bytes>("recomputed_bytes", bytes(),
                                   "recomputed activations: held from the start of recomputation "
                                   "(without one, from the forward pass) to the end of B or W"),
       field<&L::workspace_bytes>("workspace_bytes", bytes(),
                                  "held while any action of the stage runs; the largest of its "
                                  "layers"),
       field<&L::pending_weight_bytes>("pending_weight_bytes", bytes(),
                                       "held from the end of I to the end of its W"),
       field<&L::selective, &S::recompute_us>("selective_recompute_us", time_us(),
                                              "recompute_us with selective recomputation, where "
                                              "they differ"),
       field<&L::selective, &S::stash_bytes>("selective_stash_bytes", bytes(),
                                             "stash_bytes with selective recomputation, where they "
                                             "differ"),
       field<&L::selective, &S::recomputed_bytes>("selective_recomputed_bytes", bytes(),
                                                  "recomputed_bytes with selective recomputation, "
                                                  "where they differ")},
      {"forward_us"}};
  return fields;
}

Takes timed_layer() { return object_of(fields_of(Layer{})); }

ModelGraph read_timed_layers(const json& layers, const std::string& place) {
  ModelGraph graph;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string source = fmt::format("{}/{}", place, i);
    const std::uint32_t times = repeats(layers[i], source, graph.layers.size());
    Layer layer;
    layer.source = source;
    read_value(layers[i], layer);
    for (std::uint32_t copy = 0; copy < times; ++copy) {
      graph.layers.push_back(layer);
      if (times > 1 && !layer.name.empty()) graph.layers.back().name += fmt::format(" {}", copy);
    }
  }
  graph.connect_as_chain();
  return graph;
}

void read_edges(const json& edges, ModelGraph& graph) {
  graph.edges.clear();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const json& end : edges[i]) {
      if (end.get<std::uint32_t>() < graph.layers.size()) continue;
      throw InputError(fmt::format("/model/edges/{}", i),
                       fmt::format("unknown layer {}; layers are 0 to {}", end.get<std::uint32_t>(),
                                   graph.layers.size() - 1));
    }
    graph.edges.emplace_back(LayerIndex{edges[i][0].get<std::uint32_t>()},
                             LayerIndex{edges[i][1].get<std::uint32_t>()});
  }
  topological_order(graph);  // refuses a cycle
}

}  // namespace penstock
