#include "validate/backends/cuda/layers/convolution_layer.hpp"

#include <doctest/doctest.h>

#include "tests/validate/backends/cuda/layers/layer_comparison.hpp"

namespace penstock::testing {
namespace {

constexpr std::uint32_t kernels = 3;

/// 3 images of 4 channels of 5 x 4 numbers to 2 channels.
ConditionalSizes small_images(std::uint32_t kernel, std::uint32_t stride, bool relu) {
  return {{3, 4, 2, 5, 4, kernel, stride, relu}, kernels};
}

}  // namespace

/// What both kinds have of their sizes and their reference.
struct OwnImages {
  using Reference = ReferenceLayer;
  ConditionalSizes sizes;

  std::size_t columns() const { return sizes.examples; }
  std::size_t numbers_in() const { return sizes.numbers_in(); }
  std::size_t numbers_out() const { return sizes.numbers_out(); }
  ReferenceLayer reference_of(const char* kind, const NamedNumbers& more) const {
    NamedNumbers numbers{{"channels_in", sizes.channels_in}, {"channels_out", sizes.channels_out},
                         {"height", sizes.height},           {"width", sizes.width},
                         {"kernel", sizes.kernel},           {"stride", sizes.stride},
                         {"relu", sizes.relu ? 1 : 0}};
    numbers.insert(more.begin(), more.end());
    return {kind, numbers, {.examples = sizes.examples}};
  }
};

/// A convolution as the GPU runs it, here.
template <class Number>
struct OwnConvolution : OwnImages {
  Carved<ConvolutionWeights<Number>> weights{sizes};
  Carved<ConvolutionWeights<SumOf<Number>>> sums{sizes};
  Carved<ConvolutionScratch<Number>> scratch{sizes};

  ReferenceLayer reference() const { return reference_of("conv", {}); }
  ConvolutionLayer<Number> layer(const LayerEnds<Number>& ends) {
    return {sizes, weights.value, sums.value, scratch.value, ends};
  }
  std::vector<Number*> weight_parts() { return {weights.value.kernel}; }
  std::vector<SumOf<Number>*> sum_parts() { return {sums.value.kernel}; }
};

template <class Number>
struct OwnConditional : OwnImages {
  Carved<ConditionalWeights<Number>> weights{sizes};
  Carved<ConditionalWeights<SumOf<Number>>> sums{sizes};
  Carved<ConditionalKept<Number>> kept{sizes};
  Carved<ConditionalScratch<Number>> scratch{sizes};

  ReferenceLayer reference() const {
    return reference_of("conditional_conv", {{"kernels", sizes.kernels}});
  }
  ConditionalLayer<Number> layer(const LayerEnds<Number>& ends) {
    return {sizes, weights.value, sums.value, kept.value, scratch.value, ends};
  }
  template <class Any>
  auto parts(const ConditionalWeights<Any>& all) {
    return std::vector<Any*>{all.kernels, all.routing, all.routing + kernels * sizes.channels_in};
  }
  std::vector<Number*> weight_parts() { return parts(weights.value); }
  std::vector<SumOf<Number>*> sum_parts() { return parts(sums.value); }
};

namespace {

/// The furthest that gradients are from central differences, over the largest.
template <template <class> class Own>
double distance_from_differences(const ConditionalSizes& sizes) {
  const auto both = gradients_and_differences<Own>(sizes);
  return furthest(both.first, both.second);
}

/// Kernels with a middle and without, strides that divide the sizes and that do not.
std::vector<ConditionalSizes> all_sizes() {
  std::vector<ConditionalSizes> all;
  for (const bool relu : {false, true}) {
    for (const std::uint32_t kernel : {1U, 2U, 3U, 5U}) {
      for (const std::uint32_t stride : {1U, 2U, 3U}) {
        all.push_back(small_images(kernel, stride, relu));
      }
    }
  }
  return all;
}

}  // namespace

// In doubles only the order of sums differs; floats have 24 bits and bf16 numbers 8.
TEST_CASE("gpu convolutions: results and gradients are those of the reference kernels") {
  for (const ConditionalSizes& sizes : all_sizes()) {
    CAPTURE(sizes.kernel);
    CAPTURE(sizes.stride);
    CAPTURE(sizes.relu);
    CHECK(distance<double, OwnConvolution>(sizes) < 1e-12);
    CHECK(distance<double, OwnConditional>(sizes) < 1e-12);
    CHECK(distance<float, OwnConvolution>(sizes) < 1e-5);
    CHECK(distance<float, OwnConditional>(sizes) < 1e-5);
    CHECK(distance<Bf16, OwnConvolution>(sizes) < 0.01);
    CHECK(distance<Bf16, OwnConditional>(sizes) < 0.02);
  }
}

TEST_CASE("gpu convolutions: gradients are those that differences show") {
  for (const ConditionalSizes& sizes : all_sizes()) {
    CAPTURE(sizes.kernel);
    CAPTURE(sizes.stride);
    CAPTURE(sizes.relu);
    CHECK(distance_from_differences<OwnConvolution>(sizes) < 1e-6);
    CHECK(distance_from_differences<OwnConditional>(sizes) < 1e-6);
  }
}

}  // namespace penstock::testing
