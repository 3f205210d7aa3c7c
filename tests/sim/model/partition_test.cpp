#include "sim/model/partition.hpp"

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

ModelGraph model_of(std::uint32_t layers,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  ModelGraph model;
  model.layers.resize(layers);
  for (const auto& [from, to] : edges) model.edges.emplace_back(LayerIndex{from}, LayerIndex{to});
  return model;
}

Partition cut_of(const std::vector<std::vector<std::uint32_t>>& stages) {
  Partition partition;
  for (const auto& stage : stages) {
    partition.stages.emplace_back();
    for (const std::uint32_t layer : stage) partition.stages.back().push_back(LayerIndex{layer});
  }
  return partition;
}

std::string refusal(const ModelGraph& model, const Partition& partition) {
  return refused_at([&] {
    check_partition(model, partition);
    stage_sizes(model, partition);
  });
}

}  // namespace

TEST_CASE("a tensor that a later stage needs is forwarded hop by hop, once for all its readers") {
  // Layer 0 feeds 1 (the same stage), 2 (the next) and 3 (the one after): its 10 bytes cross both
  // boundaries once. Layer 2's 7 bytes cross the second. Layer 3 hands nothing on.
  ModelGraph model = model_of(4, {{0, 1}, {0, 2}, {0, 3}, {2, 3}});
  model.layers[0].activation_bytes = 10;
  model.layers[1].activation_bytes = 1000;  // nobody reads it
  model.layers[2].activation_bytes = 7;
  model.layers[3].activation_bytes = 5000;
  for (Layer& layer : model.layers) {
    layer.stash_bytes = 2;
    layer.parameter_bytes = 3;
  }
  const std::vector<StageSizes> sizes = stage_sizes(model, cut_of({{0, 1}, {2}, {3}}));
  CHECK(sizes[0].activation_bytes == 10);
  CHECK(sizes[1].activation_bytes == 17);
  CHECK(sizes[2].activation_bytes == 0);
  CHECK(sizes[0].stash_bytes == 4);
  CHECK(sizes[0].parameter_bytes == 6);
  CHECK(sizes[2].stash_bytes == 2);
}

TEST_CASE("every layer belongs to exactly one stage, and no stage is empty") {
  const ModelGraph model = model_of(3, {{0, 1}, {1, 2}});
  CHECK(refusal(model, cut_of({{0, 1}, {2}})) == "accepted");
  CHECK(refusal(model, cut_of({{0, 1}, {}})) ==
        "/partition/stages/1: the stage is empty; each stage needs at least one layer");
  CHECK(refusal(model, cut_of({{0, 1}, {2, 3}})) ==
        "/partition/stages/1: unknown layer 3; layers are 0 to 2");
  CHECK(refusal(model, cut_of({{0, 1}, {1, 2}})) ==
        "/partition/stages/1: layer 1 is already in stage 0; each layer belongs to one stage");
  CHECK(refusal(model, cut_of({{0}, {1}})) == "/partition/stages: layer 2 is in no stage");
}

TEST_CASE("activations go to the same or a later stage") {
  const ModelGraph model = model_of(2, {{0, 1}});
  CHECK(
      refusal(model, cut_of({{1}, {0}})) ==
      "/partition/stages: layer 0 of stage 1 feeds layer 1 of stage 0; activations go to the same "
      "or a later stage");
}

TEST_CASE("layers are ordered by their edges, and otherwise as they were given") {
  const auto order_of = [](const ModelGraph& model) {
    std::vector<std::uint32_t> order;
    for (LayerIndex layer : topological_order(model)) order.push_back(index(layer));
    return order;
  };
  CHECK(order_of(model_of(4, {})) == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(order_of(model_of(4, {{3, 0}, {2, 1}})) == std::vector<std::uint32_t>{2, 1, 3, 0});
  CHECK(order_of(model_of(2, {{1, 0}, {1, 0}})) == std::vector<std::uint32_t>{1, 0});
  CHECK_THROWS_WITH_AS(
      order_of(model_of(3, {{0, 1}, {1, 2}, {2, 1}})),
      "layer 1 depends on itself through a cycle of edges; a model is a graph without cycles",
      InputError);
  CHECK_THROWS_AS(order_of(model_of(1, {{0, 0}})), InputError);
  CHECK_THROWS_WITH_AS(order_of(model_of(2, {{0, 1}, {5, 0}})), "it names layer 5; there are 2",
                       InputError);
}

}  // namespace penstock::testing
