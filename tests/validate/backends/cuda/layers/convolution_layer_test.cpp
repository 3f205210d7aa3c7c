#include "validate/backends/cuda/layers/convolution_layer.hpp"

#include <doctest/doctest.h>

#include "tests/validate/backends/cuda/layers/layer_comparison.hpp"
#include "validate/backends/cuda/layers/host_run.hpp"

namespace penstock::testing {
namespace {

constexpr OnHost on_host{};
constexpr std::uint32_t kernels = 3;

/// 3 images of 4 channels of 5 x 4 numbers to 2 channels.
ConditionalSizes small_images(std::uint32_t kernel, std::uint32_t stride, bool relu) {
  return {{3, 4, 2, 5, 4, kernel, stride, relu}, kernels};
}

NamedNumbers numbers_of(const ConditionalSizes& sizes, bool mixed) {
  NamedNumbers numbers{{"channels_in", sizes.channels_in}, {"channels_out", sizes.channels_out},
                       {"height", sizes.height},           {"width", sizes.width},
                       {"kernel", sizes.kernel},           {"stride", sizes.stride},
                       {"relu", sizes.relu ? 1 : 0}};
  if (mixed) numbers["kernels"] = sizes.kernels;
  return numbers;
}

/// A convolution as the GPU runs it, here.
template <class Number>
struct OwnConvolution {
  static constexpr const char* kind = "conv";
  ConditionalSizes sizes;
  Carved<ConvolutionWeights<Number>> weights{sizes};
  Carved<ConvolutionWeights<SumOf<Number>>> sums{sizes};
  Carved<ConvolutionScratch<Number>> scratch{sizes};

  ConvolutionLayer<Number> layer(const LayerEnds<Number>& ends) {
    return {sizes, weights.value, sums.value, scratch.value, ends};
  }
  std::vector<Number*> weight_parts() { return {weights.value.kernel}; }
  std::vector<SumOf<Number>*> sum_parts() { return {sums.value.kernel}; }
};

template <class Number>
struct OwnConditional {
  static constexpr const char* kind = "conditional_conv";
  ConditionalSizes sizes;
  Carved<ConditionalWeights<Number>> weights{sizes};
  Carved<ConditionalWeights<SumOf<Number>>> sums{sizes};
  Carved<ConditionalKept<Number>> kept{sizes};
  Carved<ConditionalScratch<Number>> scratch{sizes};

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

/// A layer with its reference, and what goes through both.
template <class Number, template <class> class Own>
struct Pair {
  Own<Number> own;
  ReferenceLayer reference;
  std::vector<Number> in, out, out_gradient, in_gradient;

  explicit Pair(const ConditionalSizes& sizes)
      : own{sizes},
        reference(Own<Number>::kind, numbers_of(sizes, own.weight_parts().size() > 1),
                  {.examples = sizes.examples}),
        in(sizes.numbers_in()),
        out(sizes.numbers_out()),
        out_gradient(sizes.numbers_out()),
        in_gradient(sizes.numbers_in()) {
    const auto parts = own.weight_parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      round_all<Number>(reference.weights[i]);
      write(reference.weights[i], parts[i]);
    }
  }

  LayerEnds<Number> ends() {
    return {in.data(), out.data(), out_gradient.data(), in_gradient.data()};
  }
  Tensor forward(const Tensor& tensor) {
    write(tensor, in.data());
    own.layer(ends()).forward(on_host);
    return read(out.data(), out.size() / tensor.columns, tensor.columns);
  }
  Tensor back(const Tensor& gradient) {
    write(gradient, out_gradient.data());
    own.layer(ends()).input_gradient(on_host);
    own.layer(ends()).weight_gradient(on_host);
    return read(in_gradient.data(), in.size() / gradient.columns, gradient.columns);
  }
};

/// The furthest that results and gradients are from those of the reference.
template <class Number, template <class> class Own>
double distance(const ConditionalSizes& sizes) {
  Pair<Number, Own> pair(sizes);
  Tensor in = drawn_tensor(sizes.numbers_in() / sizes.examples, sizes.examples, 1);
  Tensor gradient = drawn_tensor(sizes.numbers_out() / sizes.examples, sizes.examples, 2);
  for (Tensor* tensor : {&in, &gradient}) round_all<Number>(*tensor);
  double worst = furthest(pair.forward(in), pair.reference.forward(in));
  worst = std::max(worst, furthest(pair.back(gradient), pair.reference.back(gradient)));
  const auto sums = pair.own.sum_parts();
  REQUIRE(sums.size() == pair.reference.sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Tensor& right = pair.reference.sums[i];
    worst = std::max(worst, furthest(read(sums[i], right.rows, right.columns), right));
  }
  return worst;
}

/// The furthest that gradients in doubles are from central differences, over the largest.
template <template <class> class Own>
double distance_from_differences(const ConditionalSizes& sizes) {
  Pair<double, Own> pair(sizes);
  const Tensor in = drawn_tensor(sizes.numbers_in() / sizes.examples, sizes.examples, 1);
  const Tensor factors = drawn_tensor(sizes.numbers_out() / sizes.examples, sizes.examples, 2);
  pair.forward(in);
  Tensor gradients = pair.back(factors);
  const auto value = [&] {
    pair.own.layer(pair.ends()).forward(on_host);
    double sum = 0;
    for (std::size_t i = 0; i < pair.out.size(); ++i) sum += pair.out[i] * factors.values[i];
    return sum;
  };
  Tensor slopes(gradients.rows, gradients.columns);
  const auto slope = [&](double& at) {
    constexpr double step = 1e-5;
    const double here = at;
    at = here + step;
    const double above = value();
    at = here - step;
    const double below = value();
    at = here;
    return (above - below) / (2 * step);
  };
  for (std::size_t i = 0; i < pair.in.size(); ++i) slopes.values[i] = slope(pair.in[i]);
  const auto weights = pair.own.weight_parts();
  const auto sums = pair.own.sum_parts();
  for (std::size_t part = 0; part < weights.size(); ++part) {
    for (std::size_t i = 0; i < pair.reference.weights[part].values.size(); ++i) {
      slopes.values.push_back(slope(weights[part][i]));
      gradients.values.push_back(sums[part][i]);
    }
  }
  return furthest(gradients, slopes);
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
