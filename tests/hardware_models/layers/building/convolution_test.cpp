#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/support/amoebanet.hpp"
#include "tests/support/layers.hpp"

namespace penstock::testing {
namespace {

// 4 -> 6 channels, 3 x 3 over 8 x 10 places.
const NumbersByName small_image = {
    {"channels_in", 4}, {"channels_out", 6}, {"height", 8}, {"width", 10}, {"kernel", 3}};

}  // namespace

TEST_CASE("conv: 6 * 4 * 9 weights meet each of 80 places of 5 images, in F, I and W alike") {
  const LayerWork work = work_of("conv", small_image, CellShape{.microbatch = 5});
  CHECK(work.parameters == 216);
  for (const Pass pass : {Pass::forward, Pass::backward_input, Pass::backward_weight}) {
    CHECK(flops_of(work, pass) == 2 * 216 * 80 * 5);
  }
  CHECK(work.kernels.front().bytes == 2 * (5 * 4 * 80 + 216 + 5 * 6 * 80));
  CHECK(work.input_bytes == 2 * 5 * 4 * 80);
  CHECK(work.output_bytes == 2 * 5 * 6 * 80);
  CHECK(work.kept_bytes == work.input_bytes);
  CHECK(work.pending_weight_bytes == work.output_bytes);
}

TEST_CASE("conv: a stride leaves every n-th place, groups divide weights, a norm keeps its input") {
  const LayerWork strided = work_of("conv", with(small_image, {{"stride", 3}}), CellShape{});
  CHECK(strided.output_bytes == 2 * 6 * 3 * 4);  // ceil(8/3) by ceil(10/3)
  CHECK(flops_of(strided, Pass::backward_input) == doctest::Approx(2 * 216 * 12));
  const LayerWork grouped = work_of("conv", with(small_image, {{"groups", 2}}), CellShape{});
  CHECK(grouped.parameters == 108);
  CHECK(flops_of(grouped, Pass::forward) == 2 * 108 * 80);
  const LayerWork normed = work_of(
      "conv", with(small_image, {{"batch_norm", 1}, {"relu", 1}, {"bias", 1}}), CellShape{});
  CHECK(normed.parameters == 216 + 3 * 6);
  CHECK(normed.kept_bytes == 2 * (4 * 80 + 6 * 80));
}

TEST_CASE("conv: a tensor group shares channels, gathers them, and sums input gradients") {
  const LayerWork work = work_of("conv", small_image, CellShape{.tensor = 2});
  CHECK(work.held_parameters == 108);
  CHECK(2 * flops_of(work, Pass::backward_input) == work.forward_flops);
  CHECK(collectives_of(work, Pass::forward, Group::tensor) == "all_gather 960");
  CHECK(collectives_of(work, Pass::backward_input, Group::tensor) == "all_reduce 640");
}

TEST_CASE("conv: groups that do not divide channels, and a cut of the sequence, are refused") {
  CHECK_THROWS_WITH_AS(work_of("conv", with(small_image, {{"groups", 4}})),
                       "4 groups do not divide the 6 of channels_out", InputError);
  CHECK_THROWS_AS(work_of("conv", small_image, CellShape{.context = 2}), InputError);
  CHECK_THROWS_AS(work_of("conv", small_image, CellShape{.tensor = 4}), InputError);
}

TEST_CASE("conditional_conv: n times the weights, and a routing of channels x n with a bias") {
  const LayerWork work = work_of("conditional_conv", with(small_image, {{"kernels", 8}}));
  CHECK(work.parameters == 8 * 216 + 4 * 8 + 8);
}

TEST_CASE("conditional_conv: kernels are summed before one convolution") {
  // 5 images: routing 2*4*8, mixing 2*216*8, convolution 2*216*80 each.
  const CellShape shape{.microbatch = 5};
  const LayerWork work = work_of("conditional_conv", with(small_image, {{"kernels", 8}}), shape);
  const double routing = 2 * 5 * 4 * 8, mixing = 2 * 5 * 216 * 8, convolution = 2 * 5 * 216 * 80;
  CHECK(flops_of(work, Pass::forward) == routing + mixing + convolution);
  CHECK(work.forward_flops == routing + mixing + convolution);
  // The gradient of the mixed kernel goes to the input too, by way of the routing: it is part of I.
  CHECK(flops_of(work, Pass::backward_input) == routing + mixing + 2 * convolution);
  CHECK(flops_of(work, Pass::backward_weight) == routing + mixing);
}

TEST_CASE("conditional_conv: it keeps its input, means, weights and one mixed kernel an example") {
  const LayerWork work =
      work_of("conditional_conv", with(small_image, {{"kernels", 8}}), CellShape{.microbatch = 5});
  CHECK(work.kept_bytes == 2 * 5 * (4 * 80 + 4 + 8 + 216));
}

TEST_CASE(
    "image_map: a pool of stride 2 reads 4 x 8 x 10 numbers of 5 images and writes a fourth") {
  const NumbersByName pool = {{"channels_in", 4}, {"height", 8}, {"width", 10}, {"scale", 0.5}};
  const LayerWork work = work_of("image_map", pool, CellShape{.microbatch = 5});
  const double in = 2 * 5 * 4 * 80, out = in / 4;
  CHECK(work.input_bytes == in);
  CHECK(work.output_bytes == out);
  CHECK(vector_bytes_of(work, Pass::forward) == in + out);
  // Gradients go the same way back, past the numbers that were kept to know where they go.
  CHECK(work.kept_bytes == in);
  CHECK(vector_bytes_of(work, Pass::backward_input) == in + out + in);
  CHECK(work.parameters == 0);
  CHECK(work.forward_flops == 0);
}

TEST_CASE("image_map: a join reads two images; what goes by is sent on but not touched") {
  const NumbersByName join = {{"channels_in", 4}, {"channels_out", 8}, {"height", 8},
                              {"width", 10},      {"images", 2},       {"passing", 30},
                              {"keeps_input", 0}};
  const LayerWork work = work_of("image_map", join, CellShape{.microbatch = 5});
  const double in = 2 * 5 * 4 * 80;
  CHECK(vector_bytes_of(work, Pass::forward) == 2 * in + 2 * in);
  CHECK(work.output_bytes == 2 * in + 2 * 5 * 30);
  CHECK(work.kept_bytes == 0);
  CHECK_THROWS_AS(work_of("image_map", join, CellShape{.context = 2}), InputError);
}

TEST_CASE("classifier: a mean for each channel, and a dense layer with a bias") {
  const NumbersByName numbers = {{"channels", 6}, {"classes", 10}, {"height", 7}, {"width", 7}};
  const LayerWork work = work_of("classifier", numbers, CellShape{.microbatch = 5});
  CHECK(work.parameters == 70);
  CHECK(work.forward_flops == 2 * 5 * 60);
  CHECK(work.input_bytes == 2 * 5 * 6 * 49);
}

TEST_CASE("amoebanet_normal: weights of five convolutions and of the two that it starts with") {
  // c = 8 from 16 and 12 channels, batch norms of 2 a channel. A narrow one: 8 -> 2 -> 2 -> 2 -> 8.
  const NumbersByName numbers = {
      {"channels_before", 12}, {"channels_in", 16}, {"channels", 8}, {"height", 4}, {"width", 4}};
  const double starts = (16 * 8 + 16) + (12 * 8 + 16);
  const double square = 8 * 8 + 16;
  const double narrow = (16 + 4) + 2 * (2 * 2 * 7 + 4) + (16 + 16);
  const LayerWork work = work_of("amoebanet_normal", numbers);
  CHECK(work.parameters == starts + 3 * square + 2 * narrow);
  // Four states of 8 channels go on, and beside them what came from the cell before.
  CHECK(work.output_bytes == 2 * 16 * (4 * 8 + 16));
  CHECK(work.input_bytes == 2 * 16 * (16 + 12));
}

TEST_CASE("amoebanet_reduction: it halves sides, and reads larger images behind another one") {
  const NumbersByName numbers = {
      {"channels_before", 12}, {"channels_in", 16}, {"channels", 8},
      {"height", 4},           {"width", 4},        {"after_reduction", 1}};
  const LayerWork work = work_of("amoebanet_reduction", numbers);
  const double starts = (16 * 8 + 16) + (12 * 8 + 16);
  const double narrow = (16 + 4) + (2 * 2 * 9 + 4) + (16 + 16);
  const double row_and_column = (16 + 4) + 2 * (2 * 2 * 7 + 4) + (16 + 16);
  CHECK(work.parameters == starts + narrow + row_and_column + 8 * 8 + 16);
  CHECK(work.output_bytes == 2 * (4 * 3 * 8 + 16 * 16));
  CHECK(work.input_bytes == 2 * (16 * 16 + 64 * 12));
}

TEST_CASE("amoebanet_normal: channels of which a device has no whole fourth are refused") {
  const NumbersByName numbers = {
      {"channels_before", 12}, {"channels_in", 16}, {"channels", 12}, {"height", 4}, {"width", 4}};
  CHECK(work_of("amoebanet_normal", numbers).parameters > 0);
  CHECK_THROWS_WITH_AS(
      work_of("amoebanet_normal", numbers, CellShape{.tensor = 2}),
      "12 is not a multiple of 8: each of 2 devices needs a whole quarter of the channels",
      InputError);
}

TEST_CASE(
    "AmoebaNet-D runs forward once and backward twice in FLOPs, and its layers fit together") {
  const Layers layers = amoebanet(18, 256);
  CHECK(layers.size() == 24);
  const LayerWork work = work_of(layers);
  CHECK(flops_of(work, Pass::forward) == doctest::Approx(work.forward_flops));
  CHECK(work.backward_flops == doctest::Approx(2 * work.forward_flops));
  for (std::size_t i = 2; i < layers.size() - 1; ++i) {
    CAPTURE(i);  // what a cell hands on is what the next one reads
    CHECK(penstock::work_of(layers[i - 1], {}).output_bytes ==
          penstock::work_of(layers[i], {}).input_bytes);
  }
}

}  // namespace penstock::testing
