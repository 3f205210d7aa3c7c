#include "validate/training/layered_stage.hpp"

#include <doctest/doctest.h>

#include "tests/support/small_models.hpp"

namespace penstock::testing {
namespace {

/// A model of one example of three tokens.
LayeredModel model_of(std::vector<std::vector<LayerSpec>> stages) {
  JobLayers layers{.stages = std::move(stages)};
  layers.shape.sequence = 3;
  return layered_model(layers);
}

Tensor forward(const LayeredModel& model, Tensor in) {
  for (const auto& layers : model.stages) {
    const LayerTensors weights = initial_weights(layers, 1);
    std::vector<SliceMemory> slices(layers.size());
    LayerTensors kept;
    in = stage_forward({layers, weights, model.cell, slices}, std::move(in), kept);
  }
  return in;
}

/// What one layer makes of its input by itself, with the weights that it has in the model.
Tensor alone(const PlacedLayer& layer, Tensor in) {
  const LayerTensors weights = initial_weights({layer}, 1);
  SliceMemory slices;
  Tensors kept;
  return layer.kernel->forward({layer.numbers, {.tokens = 3}, weights.front(), slices},
                               std::move(in), kept);
}

Tensor sum(Tensor a, const Tensor& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

const LayerSpec norm{"norm", {{"hidden", 4}}, ""};
const LayerSpec mlp{"mlp", {{"hidden", 4}, {"intermediate", 6}}, ""};

}  // namespace

// x is what the model reads, n its norm: x + mlp(n), which a loss follows.
TEST_CASE("layers: what goes around an mlp goes around the norm in front of it too") {
  const LayeredModel model = model_of({{norm, mlp}});
  const auto& layers = model.stages.front();
  REQUIRE(layers.size() == 3);
  const Tensor x = model_input(model, model.cell);
  const Tensor right = sum(alone(layers[1], alone(layers[0], x)), x);
  CHECK(forward(model, x).values == alone(layers[2], right).values);
}

TEST_CASE("layers: without a norm in front an mlp adds its own input") {
  const LayeredModel model = model_of({{mlp}});
  const auto& layers = model.stages.front();
  const Tensor x = model_input(model, model.cell);
  CHECK(forward(model, x).values == alone(layers[1], sum(alone(layers[0], x), x)).values);
}

// Between norm and mlp both go from stage to stage: the norm's outputs, and what goes around them.
TEST_CASE("layers: a cut between a norm and its mlp changes nothing but what is sent") {
  const LayeredModel whole = model_of({{norm, mlp}});
  const LayeredModel apart = model_of({{norm}, {mlp}});
  CHECK(stage_numbers(apart, 0) == 12);
  CHECK(stage_numbers(apart, 1) == 24);
  const Tensor x = model_input(whole, whole.cell);
  CHECK(forward(apart, x).values == forward(whole, x).values);
}

// 4 channels of 6 x 4, then 12 and 16 of 3 x 2.
TEST_CASE("layers: cells pass on the output before theirs, and single layers read and send one") {
  const std::vector<LayerSpec> all = small_amoebanet();
  const std::vector<LayerSpec> four{all[0], all[1], all[2], all.back()};
  const LayeredModel whole = model_of({four});
  const LayeredModel apart = model_of({{four[0]}, {four[1]}, {four[2]}, {four[3]}});
  CHECK(stage_numbers(apart, 1) == 96);
  CHECK(stage_numbers(apart, 2) == 72 + 96);
  CHECK(stage_numbers(apart, 3) == 96);
  const Tensor x = model_input(whole, whole.cell);
  CHECK(forward(apart, x).values == forward(whole, x).values);
  // The reduction by itself reads both of its inputs.
  CHECK(stage_numbers(model_of({{four[1]}}), 0) == 2 * 96);
}

TEST_CASE("layers: a cell that needs two sizes does not follow a single layer") {
  std::vector<LayerSpec> layers = small_amoebanet();
  const JobLayers job{.stages = {{layers[0], layers[2]}}};
  CHECK(why_not_layers(job) ==
        "a layer that reads two outputs of different sizes, behind a single one: layer 1 "
        "(amoebanet_normal)");
}

}  // namespace penstock::testing
