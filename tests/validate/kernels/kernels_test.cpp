#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/kernel_gradients.hpp"
#include "tests/support/small_models.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/training/layered_model.hpp"

namespace penstock::testing {
namespace {

const KernelCell tokens{.examples = 2, .tokens = 5};
const KernelCell sliced{.examples = 2, .tokens = 2, .slices = 3};

}  // namespace

// Central differences with a step of 1e-5 are right to about 1e-10 in doubles; gradients must agree
// with them to 1e-6 of the largest.
TEST_CASE("kernels: gradients of layers of tokens are those that differences show") {
  check_gradients("norm", {{"hidden", 6}}, tokens, {{{"bias", 1}}});
  check_gradients("mlp", {{"hidden", 4}, {"intermediate", 6}}, tokens,
                  {{{"gated", 1}}, {{"bias", 1}}, {{"gated", 1}, {"bias", 1}}, {{"dropout", 0.3}}});
  check_gradients("embedding", {{"vocab", 5}, {"hidden", 3}}, tokens,
                  {{{"positions", 7}}, {{"dropout", 0.4}}});
  check_gradients("head", {{"vocab", 5}, {"hidden", 3}}, tokens, {{{"bias", 1}}, {{"tied", 1}}});
}

// Differences are too small to change which experts are chosen.
TEST_CASE("kernels: gradients of a mixture of experts are those that differences show") {
  check_gradients("moe", {{"hidden", 4}, {"experts", 3}, {"chosen", 2}, {"expert_intermediate", 5}},
                  tokens,
                  {{{"gated", 0}},
                   {{"chosen", 1}},
                   {{"shared_intermediate", 3}},
                   {{"shared_intermediate", 3}, {"shared_gate", 1}}});
}

TEST_CASE("kernels: gradients of latent attention are those that differences show") {
  const NamedNumbers sizes{{"hidden", 5}, {"heads", 2}, {"kv_lora_rank", 3},
                           {"nope", 2},   {"rope", 2},  {"value", 3}};
  check_gradients("mla", sizes, tokens,
                  {{{"q_lora_rank", 4}}, {{"causal", 0}}, {{"flash", 0}}, {{"value", 6}}});
  check_gradients("mla", sizes, sliced, {{{"q_lora_rank", 4}}});
}

// Each token has the shares of its two experts, which add up to one.
TEST_CASE("kernels: a mixture of equal experts is one of them") {
  const LayerSpec spec{
      "moe", {{"hidden", 4}, {"experts", 3}, {"chosen", 2}, {"expert_intermediate", 5}}, ""};
  const LayerNumbers numbers = all_numbers(spec);
  const KernelEntry& kernel = *find_named(kernel_entries(), spec.kind);
  Tensors weights = initial_weights(kernel.weights(numbers), 1, 0);
  for (std::size_t expert = 1; expert < 3; ++expert) {
    weights[1 + 2 * expert] = weights[1];
    weights[2 + 2 * expert] = weights[2];
  }
  const LayerNumbers one(
      {{"hidden", 4.0}, {"intermediate", 5.0}, {"gated", 1.0}, {"bias", 0.0}, {"dropout", 0.0}});
  const Tensor in = drawn_numbers(tokens, Columns::tokens, 4, Drawn::number);
  SliceMemory slices;
  Tensors kept, kept_by_one;
  const Tensor out = kernel.forward({numbers, tokens, weights, slices}, in, kept);
  const Tensors own{weights[1], weights[2]};
  const Tensor right =
      find_named(kernel_entries(), "mlp")->forward({one, tokens, own, slices}, in, kept_by_one);
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    CHECK(out.values[i] == doctest::Approx(right.values[i]).epsilon(1e-12));
  }
}

TEST_CASE("kernels: gradients of attention are those that differences show, with every flag") {
  check_gradients("attention", {{"hidden", 6}, {"heads", 2}}, tokens,
                  {{{"causal", 0}},
                   {{"window", 2}},
                   {{"flash", 0}},
                   {{"dropout", 0.3}},
                   {{"dropout", 0.3}, {"flash", 0}, {"kv_heads", 1}},
                   {{"heads", 4}, {"kv_heads", 2}, {"head_dim", 2}},
                   {{"qkv_bias", 1}, {"out_bias", 1}},
                   {{"qk_norm", 1}},
                   {{"qk_norm", 1}, {"qkv_bias", 1}, {"kv_heads", 1}}});
}

// The value is that of all slices together, so the first slice's keys have gradients from the last.
TEST_CASE("kernels: gradients go from later slices of a sequence to earlier ones") {
  check_gradients(
      "attention", {{"hidden", 6}, {"heads", 2}}, sliced,
      {{{"flash", 0}}, {{"window", 3}}, {{"kv_heads", 1}, {"qk_norm", 1}}, {{"dropout", 0.3}}});
  check_gradients("embedding", {{"vocab", 5}, {"hidden", 3}, {"positions", 6}}, sliced);
  check_gradients("head", {{"vocab", 5}, {"hidden", 3}}, sliced);
}

TEST_CASE("kernels: a model that ends without a loss is led to a drawn target") {
  for (const double of_images : {0.0, 1.0}) {
    const LayerNumbers numbers({{"rows", 4.0}, {"images", of_images}});
    CHECK(gradient_error(distance_kernel, numbers,
                         of_images == 1 ? KernelCell{.examples = 3} : sliced) < 1e-6);
  }
}

// Of 4096 values a quarter is dropped, within 5 standard deviations of 0.68 %; the others are 4/3.
TEST_CASE("kernels: dropout zeroes its share of values, others in each layer and microbatch") {
  const LayerNumbers numbers({{"dropout", 0.25}});
  SliceMemory slices;
  const auto outputs = [&](const KernelCell& cell, std::uint32_t layer) {
    Tensor ones(32, columns_of(cell, Columns::tokens));
    std::fill(ones.values.begin(), ones.values.end(), 1);
    drop_out({numbers, cell, {}, slices, layer}, ones);
    return ones;
  };
  const KernelCell cell{.examples = 2, .tokens = 64};
  const Tensor first = outputs(cell, 3);
  const auto dropped = std::count(first.values.begin(), first.values.end(), 0.0);
  CHECK(std::abs(static_cast<double>(dropped) / 4096 - 0.25) < 5 * 0.0068);
  CHECK(std::count(first.values.begin(), first.values.end(), 1 / 0.75) == 4096 - dropped);
  CHECK(outputs(cell, 3).values == first.values);
  CHECK(outputs(cell, 4).values != first.values);
  CHECK(outputs({.microbatch = 1, .examples = 2, .tokens = 64}, 3).values != first.values);
  // The last slice of the first example.
  const Tensor slice = outputs({.examples = 2, .tokens = 16, .slice = 3, .slices = 4}, 3);
  CHECK(std::equal(slice.values.begin(), slice.values.begin() + 16 * 32,
                   first.values.begin() + 48 * 32));
}

TEST_CASE("kernels: a slice sees what a whole sequence would show it") {
  const LayerSpec spec{"attention", {{"hidden", 6}, {"heads", 2}}, ""};
  const LayerNumbers numbers = all_numbers(spec);
  const KernelEntry& kernel = *find_named(kernel_entries(), spec.kind);
  const Tensors weights = initial_weights(kernel.weights(numbers), 1, 0);
  const auto forward = [&](const KernelCell& cell, SliceMemory& slices) {
    Tensors kept;
    return kernel.forward({numbers, cell, weights, slices},
                          drawn_numbers(cell, Columns::tokens, 6, Drawn::number), kept);
  };
  SliceMemory slices;
  const Tensor whole = forward({.examples = 2, .tokens = 6}, slices);
  SliceMemory memory;
  for (std::uint32_t slice = 0; slice < 3; ++slice) {
    const Tensor part = forward({.examples = 2, .tokens = 2, .slice = slice, .slices = 3}, memory);
    for (std::size_t column = 0; column < 4; ++column) {
      const std::size_t there = column / 2 * 6 + slice * 2 + column % 2;
      for (std::size_t row = 0; row < 6; ++row) {
        CHECK(part.values[column * 6 + row] ==
              doctest::Approx(whole.values[there * 6 + row]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("kernels: what is drawn does not depend on how sequences are cut") {
  const KernelCell whole{.microbatch = 4, .examples = 2, .tokens = 6};
  const Tensor all = drawn_tokens(whole, 1000);
  const KernelCell last{.microbatch = 4, .examples = 2, .tokens = 2, .slice = 2, .slices = 3};
  CHECK(drawn_tokens(last, 1000).values ==
        std::vector<double>{all.values[4], all.values[5], all.values[10], all.values[11]});
  KernelCell other = whole;
  other.microbatch = 5;
  CHECK(drawn_tokens(other, 1000).values != all.values);
}

TEST_CASE("kernels: layers that are not run are named, with what is in the way") {
  const auto reason = [](LayerSpec layer, CellShape shape = small_transformer_shape()) {
    JobLayers layers{.stages = {{std::move(layer)}}, .shape = shape};
    return why_not_layers(layers).value_or("run");
  };
  const LayerSpec mlp{"mlp", {{"hidden", 8}, {"intermediate", 8}}, ""};
  const auto with = [&](const char* name, double value) {
    LayerSpec layer = mlp;
    layer.numbers[name] = value;
    return layer;
  };
  CHECK(reason(mlp) == "run");
  CHECK(reason(with("dropout", 0.1)) == "run");
  CHECK(reason({"head", {{"hidden", 8}, {"vocab", 8}, {"tied", 1}}, ""}) ==
        "a head that is tied, in a model that does not start with its embedding: layer 0 (head)");
  CHECK(reason({"measured", {{"forward_us", 1}}, ""}) == "layers of kind \"measured\"");
  LayerSpec moe{
      "moe", {{"hidden", 8}, {"expert_intermediate", 8}, {"experts", 2}, {"chosen", 1}}, ""};
  moe.numbers["capacity_factor"] = 1.5;
  CHECK(reason(moe) ==
        "some layers of kind \"moe\": \"capacity_factor\" above 0: the moe kernel "
        "drops no token; set it to 0");
  moe.numbers["bias"] = 1;
  CHECK(reason(moe) ==
        "some layers of kind \"moe\": \"bias\" 1: the moe kernel has none; set it to 0");
  CellShape group = small_transformer_shape();
  group.tensor = 2;
  CHECK(reason(mlp, group) == "groups of devices that share a layer");
  CellShape slices = small_transformer_shape();
  slices.slices = 2;
  CHECK(reason({"attention", {{"hidden", 8}, {"heads", 2}, {"causal", 0}}, ""}, slices) ==
        "some layers of kind \"attention\": \"causal\" 0: a slice would attend to slices that have "
        "not run");
  CHECK(reason(small_convolution_net()[0], slices) ==
        "slices of images, for layers of kind \"conv\"");
}

TEST_CASE("kernels: layers that do not fit together are named") {
  JobLayers layers;
  layers.shape = small_transformer_shape();
  layers.stages = {{{"mlp", {{"hidden", 8}, {"intermediate", 8}}, ""}},
                   {{"mlp", {{"hidden", 4}, {"intermediate", 8}}, ""}}};
  CHECK(why_not_layers(layers) ==
        "layers that do not fit together: layer 0 (mlp) produces 8 rows, layer 1 (mlp) takes 4");
  layers.stages[1] = {{"embedding", {{"hidden", 8}, {"vocab", 8}}, ""}};
  CHECK(why_not_layers(layers) == "token ids after the start of a model: layer 1 (embedding)");
  std::swap(layers.stages[0], layers.stages[1]);
  layers.stages[1].insert(layers.stages[1].begin(), {"head", {{"hidden", 8}, {"vocab", 8}}, ""});
  CHECK(why_not_layers(layers) == "a loss before the end of a model: layer 1 (head)");
}

}  // namespace penstock::testing
