#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/kernel_gradients.hpp"
#include "tests/support/small_models.hpp"
#include "validate/kernels/images/pooling.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/training/layered_model.hpp"

namespace penstock::testing {
namespace {

const KernelCell images{.examples = 3};

}  // namespace

TEST_CASE("kernels: gradients of layers of images are those that differences show") {
  const std::vector<NamedNumbers> flags{
      {{"relu", 1}},       {{"bias", 1}},
      {{"batch_norm", 1}}, {{"bias", 1}, {"batch_norm", 1}, {"relu", 1}},
      {{"stride", 2}},     {{"stride", 3}, {"groups", 2}},
      {{"kernel", 2}},     {{"kernel", 1}}};
  const NamedNumbers sizes{
      {"channels_in", 4}, {"channels_out", 2}, {"height", 5}, {"width", 4}, {"kernel", 3}};
  check_gradients("conv", sizes, images, flags);
  NamedNumbers mixed = sizes;
  mixed["kernels"] = 3;
  check_gradients("conditional_conv", mixed, images, flags);
  check_gradients("image_map", {{"channels_in", 2}, {"height", 4}, {"width", 6}, {"scale", 0.5}},
                  images, {{{"keeps_input", 0}}, {{"scale", 1.0 / 3}, {"height", 6}}});
  check_gradients("classifier", {{"channels", 3}, {"classes", 4}, {"height", 2}, {"width", 3}},
                  images);
}

// A step of 1e-7 is too small to take an input of a ReLU across zero, or to change the largest
// value of a window.
TEST_CASE("kernels: gradients of cells of AmoebaNet are those that differences show") {
  const NamedNumbers sizes{
      {"channels_before", 3}, {"channels_in", 2}, {"channels", 4}, {"height", 4}, {"width", 3}};
  for (const char* kind : {"amoebanet_normal", "amoebanet_reduction"}) {
    check_gradients(kind, sizes, {.examples = 2},
                    {{{"channels_before", 4}}, {{"after_reduction", 1}}}, 1e-7);
  }
}

TEST_CASE(
    "kernels: cells of AmoebaNet have the weights and the outputs that they are priced with") {
  CellShape shape = small_convolution_shape();
  shape.activation_size = 1;
  for (const LayerSpec& spec : small_amoebanet()) {
    CAPTURE(spec.kind);
    const KernelEntry& kernel = *find_named(kernel_entries(), spec.kind);
    const LayerWork work = work_of(spec, shape);
    double weights = 0;
    for (const WeightSpec& one : kernel.weights(all_numbers(spec))) {
      weights += static_cast<double>(one.rows * one.columns);
    }
    CHECK(weights == work.parameters);
    if (kernel.ends == Ends::last) continue;
    const auto rows = static_cast<double>(kernel.rows_out(all_numbers(spec)));
    CHECK(rows * shape.microbatch == work.output_bytes);
  }
}

// Without kernels and gains a convolution gives its shift: 2 where the newer image enters and 3
// where the older one does, 0 elsewhere. Pools leave what is equal everywhere. The sums are worked
// out by hand from the tables.
TEST_CASE("kernels: a cell of AmoebaNet sums the states of its table") {
  const auto states_of = [](const char* kind) {
    const LayerSpec spec{
        kind,
        {{"channels_before", 2}, {"channels_in", 5}, {"channels", 4}, {"height", 3}, {"width", 5}},
        ""};
    const KernelEntry& kernel = *find_named(kernel_entries(), kind);
    const LayerNumbers numbers = all_numbers(spec);
    Tensors weights;
    for (const WeightSpec& one : kernel.weights(numbers))
      weights.emplace_back(one.rows, one.columns);
    weights[2].values.assign(4, 2);
    weights[5].values.assign(4, 3);
    const KernelCell cell{.examples = 1};
    const Tensor in = drawn_numbers(cell, Columns::images, kernel.rows_in(numbers), Drawn::number);
    SliceMemory slices;
    Tensors kept;
    const Tensor out = kernel.forward({numbers, cell, weights, slices}, in, kept);
    const std::size_t passed = kernel.rows_passed(numbers);
    const std::size_t joined = out.rows - passed;
    const bool goes_on = std::equal(in.values.begin(), in.values.begin() + 5 * 15,
                                    out.values.begin() + static_cast<std::ptrdiff_t>(joined));
    CHECK(goes_on);
    const std::size_t rows = std::string_view(kind) == "amoebanet_normal" ? 4 * 15 : 4 * 6;
    std::vector<double> states;
    for (std::size_t row = 0; row < joined; row += rows) {
      for (std::size_t i = row; i < row + rows; ++i)
        CHECK(out.values[i] == doctest::Approx(out.values[row]));
      states.push_back(std::round(out.values[row]));
    }
    return states;
  };
  CHECK(states_of("amoebanet_normal") == std::vector<double>{2, 3, 0, 3});
  CHECK(states_of("amoebanet_reduction") == std::vector<double>{4, 7, 4});
}

// Windows of 3 x 3 at every second place of 1 2 3 / 4 5 6 / 7 8 9, cut off at edges.
TEST_CASE("kernels: pools take the places of a window inside the image") {
  Tensor image(9, 1);
  std::iota(image.values.begin(), image.values.end(), 1);
  Pooling pooling{.height = 3, .width = 3, .window = 3, .stride = 2, .before = 1};
  Tensor chosen;
  CHECK(pooled(pooling, image, chosen).values == std::vector<double>{5, 6, 8, 9});
  CHECK(chosen.values == std::vector<double>{4, 5, 7, 8});
  pooling.largest = false;
  CHECK(pooled(pooling, image, chosen).values == std::vector<double>{3, 4, 6, 7});
}

// A 3 x 3 kernel of ones over an image of ones counts the places inside: 4 in corners, 6 at edges,
// 9 in the middle; a stride of 2 leaves the corners of 3 x 3.
TEST_CASE("kernels: convolutions pad edges with zeros and leave every n-th place") {
  for (const double stride : {1.0, 2.0}) {
    const LayerNumbers numbers({{"channels_in", 1},
                                {"channels_out", 1},
                                {"height", 3},
                                {"width", 3},
                                {"kernel", 3},
                                {"stride", stride},
                                {"groups", 1},
                                {"bias", 0},
                                {"relu", 0},
                                {"batch_norm", 0}});
    Tensor ones(9, 1);
    std::fill(ones.values.begin(), ones.values.end(), 1);
    const Tensors weights{ones};
    SliceMemory slices;
    Tensors kept;
    const Tensor out = find_named(kernel_entries(), "conv")
                           ->forward({numbers, KernelCell{}, weights, slices}, ones, kept);
    CHECK(out.values == (stride == 1 ? std::vector<double>{4, 6, 4, 6, 9, 6, 4, 6, 4}
                                     : std::vector<double>{4, 4, 4, 4}));
  }
}

}  // namespace penstock::testing
