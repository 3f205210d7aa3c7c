#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/named.hpp"
#include "tests/support/kernel_gradients.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/training/layered_model.hpp"

// Kernels of an encoder of pictures: a column is the pictures of an example.

namespace penstock::testing {
namespace {

const KernelCell with_pictures{.examples = 2, .tokens = 5};

const LayerSpec patches_layer{
    "patches", {{"hidden", 4}, {"patch", 2}, {"channels", 2}, {"positions", 3}, {"tokens", 8}}, ""};
const LayerSpec block_layer{
    "vision_block", {{"hidden", 4}, {"heads", 2}, {"intermediate", 5}, {"tokens", 8}}, ""};
const LayerSpec merger_layer{"merger", {{"hidden", 4}, {"out", 3}, {"deep", 1}, {"tokens", 8}}, ""};
const LayerSpec embedding_layer{
    "picture_embedding", {{"vocab", 7}, {"hidden", 3}, {"pictures", 2}, {"deep", 1}}, ""};
const LayerSpec mlp_layer{"mlp", {{"hidden", 3}, {"intermediate", 4}}, ""};
const LayerSpec head_layer{"head", {{"hidden", 3}, {"vocab", 7}}, ""};

JobLayers vision_job(std::vector<std::vector<LayerSpec>> stages) {
  return {.stages = std::move(stages), .shape = {.sequence = 5, .microbatch = 2}};
}

}  // namespace

TEST_CASE("kernels: gradients of an encoder of pictures are those that differences show") {
  check_gradients("patches", patches_layer.numbers, with_pictures,
                  {{{"bias", 0}}, {{"positions", 0}}});
  check_gradients("vision_block", block_layer.numbers, with_pictures,
                  {{{"gated", 1}, {"norm_bias", 0}}});
  check_gradients("merger", merger_layer.numbers, with_pictures,
                  {{{"deep", 0}}, {{"norm_bias", 0}}});
  check_gradients("picture_embedding", embedding_layer.numbers, with_pictures, {{{"deep", 0}}});
}

TEST_CASE("kernels: an encoder, an embedding and a decoder make a model, cut anywhere") {
  for (const auto& stages :
       {std::vector<std::vector<LayerSpec>>{
            {patches_layer, block_layer, merger_layer, embedding_layer, mlp_layer, head_layer}},
        {{patches_layer},
         {block_layer, merger_layer},
         {embedding_layer, mlp_layer},
         {head_layer}}}) {
    const auto why_not = why_not_layers(vision_job(stages));
    CAPTURE(why_not.value_or(""));
    CHECK_FALSE(why_not.has_value());
  }
  LayerSpec more = embedding_layer;
  more.numbers["pictures"] = 3;
  CHECK(why_not_layers(vision_job({{patches_layer, merger_layer, more, head_layer}}))
            .value_or("")
            .find("do not fit") != std::string::npos);
  more.numbers["pictures"] = 6;
  CHECK(why_not_layers(vision_job({{patches_layer, merger_layer, more, head_layer}}))
            .value_or("")
            .find("5 tokens") != std::string::npos);
  LayerSpec tied = head_layer;
  tied.numbers["tied"] = 1;
  CHECK(why_not_layers(vision_job({{patches_layer, merger_layer, embedding_layer, tied}}))
            .value_or("")
            .find("tied") != std::string::npos);
}

// Eight patches become two tokens, which take the first places of the five of an example.
TEST_CASE("kernels: tokens of pictures take the first places of an example") {
  const KernelEntry& kernel = *find_named(kernel_entries(), "picture_embedding");
  const LayerNumbers numbers = all_numbers(embedding_layer);
  const Tensors weights = initial_weights(kernel.weights(numbers), 7, 3);
  const Tensor in =
      drawn_numbers(with_pictures, Columns::images, kernel.rows_in(numbers), Drawn::number);
  SliceMemory slices;
  Tensors kept;
  const Tensor out = kernel.forward({numbers, with_pictures, weights, slices}, in, kept);
  REQUIRE(out.columns == 10);
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK(out.values[3 + row] == in.values[3 + row] + in.values[9 + row]);  // of inner layers too
    const std::size_t token = token_at(with_pictures, 1, 4, 7);
    CHECK(out.values[9 * 3 + row] == weights[0].values[token * 3 + row]);
  }
}

}  // namespace penstock::testing
