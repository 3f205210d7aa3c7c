#pragma once

#include "validate/backends/cuda/layers/activation.hpp"
#include "validate/backends/cuda/layers/image_patches.hpp"
#include "validate/backends/cuda/layers/matrix_product.hpp"
#include "validate/backends/cuda/layers/memory.hpp"
#include "validate/backends/cuda/layers/sums.hpp"

namespace penstock {

// Passes say what to run in which order, as those of transformer_layer.hpp do.

/// The products of a convolution; weights are one kernel of all images, or one of each.
template <class Number>
struct ConvolutionProducts {
  ImageSizes sizes;
  bool kernel_of_each;

  /// out = patches * kernel.
  LayerProduct<Number> forward(const Number* patches, const Number* kernel, Number* out) const {
    ProductForm form;
    form.batch = sizes.examples;
    form.a_step = patch_step();
    form.b_step = kernel_step();
    form.c_step = out_step();
    return {sizes.places_out(), sizes.channels_out, sizes.window(), form, patches, kernel, out};
  }

  /// Of patches: gradient * transposed kernel.
  LayerProduct<Number> back(const Number* gradient, const Number* kernel,
                            Number* patch_gradient) const {
    ProductForm form;
    form.b_transposed = true;
    form.batch = sizes.examples;
    form.a_step = out_step();
    form.b_step = kernel_step();
    form.c_step = patch_step();
    return {sizes.places_out(), sizes.window(), sizes.channels_out, form,
            gradient,           kernel,         patch_gradient};
  }

  /// Of the kernel of each image: transposed patches * gradient.
  LayerProduct<Number> of_kernels(const Number* patches, const Number* gradient,
                                  SumOf<Number>* kernel_gradients) const {
    ProductForm form;
    form.a_transposed = true;
    form.result = ProductResult::sums;
    form.batch = sizes.examples;
    form.a_step = patch_step();
    form.b_step = out_step();
    form.c_step = sizes.weights();
    return {sizes.window(), sizes.channels_out, sizes.places_out(), form,
            patches,        gradient,           kernel_gradients};
  }

 private:
  std::uint64_t patch_step() const { return std::uint64_t{sizes.window()} * sizes.places_out(); }
  std::uint64_t kernel_step() const { return kernel_of_each ? sizes.weights() : 0; }
  std::uint64_t out_step() const { return std::uint64_t{sizes.places_out()} * sizes.channels_out; }
};

/// The kernel, a column of numbers under it for each output channel; or the sums of its gradient.
template <class Number>
struct ConvolutionWeights {
  Number* kernel;

  ConvolutionWeights(const ImageSizes& sizes, Carver& carver)
      : kernel(carver.take<Number>(sizes.weights())) {}
};

/// What a pass alone needs.
template <class Number>
struct ConvolutionScratch {
  Number* patches;                  // or their gradient
  SumOf<Number>* kernel_gradients;  // by image

  ConvolutionScratch(const ImageSizes& sizes, Carver& carver)
      : patches(carver.take<Number>(sizes.patch_numbers())),
        kernel_gradients(carver.take<SumOf<Number>>(sizes.examples * sizes.weights())) {}
};

/// A ReLU and a convolution in a pass. It keeps its input alone.
template <class Number>
struct ConvolutionLayer {
  ImageSizes sizes;
  ConvolutionWeights<Number> weights;
  ConvolutionWeights<SumOf<Number>> sums;
  ConvolutionScratch<Number> scratch;
  LayerEnds<Number> ends;

  template <class Out>
  void forward(Out& out) const {
    out.step(patches());
    out.product(products().forward(scratch.patches, weights.kernel, ends.out));
  }

  template <class Out>
  void input_gradient(Out& out) const {
    out.product(products().back(ends.out_gradient, weights.kernel, scratch.patches));
    out.step(PatchGradient<Number>{sizes.numbers_in(), sizes, ends.in, scratch.patches, nullptr,
                                   ends.in_gradient});
  }

  template <class Out>
  void weight_gradient(Out& out) const {
    out.step(patches());
    out.product(
        products().of_kernels(scratch.patches, ends.out_gradient, scratch.kernel_gradients));
    out.step(
        AddedParts<Number>{sizes.weights(), sizes.examples, scratch.kernel_gradients, sums.kernel});
  }

 private:
  ConvolutionProducts<Number> products() const { return {sizes, false}; }
  Patches<Number> patches() const {
    return {sizes.patch_numbers(), sizes, ends.in, scratch.patches};
  }
};

// A conditional convolution mixes some kernels into one per image, by a sigmoid of a dense layer
// over the means of its channels. Columns of the routing are those of channels, then the bias.

/// The means of channels, a row per channel of an image.
template <class Number>
struct ChannelMeans {
  static constexpr unsigned lanes = 32;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  ImageSizes sizes;
  const Number* in;
  Sum* means;

  template <class Team>
  PENSTOCK_BOTH void row(std::uint64_t channel, const Team& team) const {
    const Number* const own = in + channel * sizes.places_in();
    const auto seen = [&](std::uint64_t i) { return sizes.seen(value_of(own[i])); };
    const Sum sum = sum_of<Sum>(team, sizes.places_in(), seen);
    if (team.lane() == 0) means[channel] = sum / static_cast<Sum>(sizes.places_in());
  }
};

/// The shares of kernels, a row per kernel of an image.
template <class Number>
struct KernelShares {
  static constexpr unsigned lanes = 32;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  std::uint32_t kernels;
  std::uint32_t channels;
  const Number* routing;
  const Sum* means;
  Sum* shares;

  template <class Team>
  PENSTOCK_BOTH void row(std::uint64_t row, const Team& team) const {
    const std::uint64_t kernel = row % kernels;
    const Sum* const own = means + row / kernels * channels;
    const auto part = [&](std::uint64_t channel) {
      return value_of(routing[kernel + channel * kernels]) * own[channel];
    };
    const Sum sum = sum_of<Sum>(team, channels, part);
    const Sum bias = value_of(routing[kernel + std::uint64_t{channels} * kernels]);
    if (team.lane() == 0) shares[row] = sigmoid_of(sum + bias);
  }
};

/// The kernel of each image, an element per number.
template <class Number>
struct MixedKernels {
  static constexpr unsigned lanes = 0;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  std::uint64_t weights;  // of a kernel
  std::uint32_t kernels;
  const Number* all;
  const Sum* shares;
  Number* mixed;

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    const std::uint64_t image = i / weights;
    Sum sum = 0;
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) {
      sum += value_of(all[kernel * weights + i % weights]) * shares[image * kernels + kernel];
    }
    mixed[i] = rounded<Number>(sum);
  }
};

/// The gradient before the sigmoid, from those of the images' kernels: a row per kernel of an
/// image.
template <class Number>
struct RoutingGradient {
  static constexpr unsigned lanes = 32;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  std::uint64_t weights;
  std::uint32_t kernels;
  const Number* all;
  const Sum* shares;
  const Sum* mixed_gradient;
  Sum* routed;

  template <class Team>
  PENSTOCK_BOTH void row(std::uint64_t row, const Team& team) const {
    const Number* const own = all + row % kernels * weights;
    const Sum* const gradient = mixed_gradient + row / kernels * weights;
    const auto part = [&](std::uint64_t i) { return value_of(own[i]) * gradient[i]; };
    const Sum sum = sum_of<Sum>(team, weights, part);
    if (team.lane() == 0) routed[row] = sum * shares[row] * (1 - shares[row]);
  }
};

/// What the routing adds to the gradient of each number of a channel, an element per channel of an
/// image.
template <class Number>
struct ChannelGradient {
  static constexpr unsigned lanes = 0;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  ImageSizes sizes;
  std::uint32_t kernels;
  const Number* routing;
  const Sum* routed;
  Sum* of_channels;

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    const std::uint64_t image = i / sizes.channels_in;
    const std::uint64_t channel = i % sizes.channels_in;
    Sum sum = 0;
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) {
      sum += value_of(routing[kernel + channel * kernels]) * routed[image * kernels + kernel];
    }
    of_channels[i] = sum / static_cast<Sum>(sizes.places_in());
  }
};

/// W of the kernels, an element per number of all.
template <class Number>
struct KernelSums {
  static constexpr unsigned lanes = 0;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  std::uint64_t weights;
  std::uint32_t kernels;
  std::uint32_t examples;
  const Sum* shares;
  const Sum* mixed_gradient;
  Sum* sums;

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    const std::uint64_t kernel = i / weights;
    Sum sum = sums[i];
    for (std::uint64_t image = 0; image < examples; ++image) {
      sum += mixed_gradient[image * weights + i % weights] * shares[image * kernels + kernel];
    }
    sums[i] = sum;
  }
};

/// W of the routing and its bias, an element per number.
template <class Number>
struct RoutingSums {
  static constexpr unsigned lanes = 0;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  std::uint32_t channels;
  std::uint32_t kernels;
  std::uint32_t examples;
  const Sum* means;
  const Sum* routed;
  Sum* sums;

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    const std::uint64_t channel = i / kernels;
    Sum sum = sums[i];
    for (std::uint64_t image = 0; image < examples; ++image) {
      const Sum mean = channel < channels ? means[image * channels + channel] : 1;
      sum += routed[image * kernels + i % kernels] * mean;
    }
    sums[i] = sum;
  }
};

struct ConditionalSizes : ImageSizes {
  std::uint32_t kernels;  // mixed into one per image

  std::uint64_t shares() const { return std::uint64_t{examples} * kernels; }
  std::uint64_t channels() const { return std::uint64_t{examples} * channels_in; }
  std::uint64_t mixed() const { return examples * weights(); }
};

/// Weights, or the sums of their gradients.
template <class Number>
struct ConditionalWeights {
  Number* kernels;  // one after the other
  Number* routing;  // a column per channel, then the bias

  ConditionalWeights(const ConditionalSizes& sizes, Carver& carver)
      : kernels(carver.take<Number>(sizes.kernels * sizes.weights())),
        routing(carver.take<Number>(std::uint64_t{sizes.kernels} * (sizes.channels_in + 1))) {}
};

/// What F leaves for I and W, and I for W.
template <class Number>
struct ConditionalKept {
  using Sum = SumOf<Number>;
  Sum* means;
  Sum* shares;
  Number* mixed;
  Sum* mixed_gradient;
  Sum* routed;

  ConditionalKept(const ConditionalSizes& sizes, Carver& carver)
      : means(carver.take<Sum>(sizes.channels())),
        shares(carver.take<Sum>(sizes.shares())),
        mixed(carver.take<Number>(sizes.mixed())),
        mixed_gradient(carver.take<Sum>(sizes.mixed())),
        routed(carver.take<Sum>(sizes.shares())) {}
};

/// What a pass alone needs.
template <class Number>
struct ConditionalScratch {
  Number* patches;
  SumOf<Number>* of_channels;

  ConditionalScratch(const ConditionalSizes& sizes, Carver& carver)
      : patches(carver.take<Number>(sizes.patch_numbers())),
        of_channels(carver.take<SumOf<Number>>(sizes.channels())) {}
};

/// A ReLU and a conditional convolution in a pass.
template <class Number>
struct ConditionalLayer {
  ConditionalSizes sizes;
  ConditionalWeights<Number> weights;
  ConditionalWeights<SumOf<Number>> sums;
  ConditionalKept<Number> kept;
  ConditionalScratch<Number> scratch;
  LayerEnds<Number> ends;

  template <class Out>
  void forward(Out& out) const {
    out.step(ChannelMeans<Number>{sizes.channels(), sizes, ends.in, kept.means});
    out.step(KernelShares<Number>{sizes.shares(), sizes.kernels, sizes.channels_in, weights.routing,
                                  kept.means, kept.shares});
    out.step(MixedKernels<Number>{sizes.mixed(), sizes.weights(), sizes.kernels, weights.kernels,
                                  kept.shares, kept.mixed});
    out.step(patches());
    out.product(products().forward(scratch.patches, kept.mixed, ends.out));
  }

  /// The gradients of the images' kernels come first: their patches make room for the gradient.
  template <class Out>
  void input_gradient(Out& out) const {
    out.step(patches());
    out.product(products().of_kernels(scratch.patches, ends.out_gradient, kept.mixed_gradient));
    out.step(RoutingGradient<Number>{sizes.shares(), sizes.weights(), sizes.kernels,
                                     weights.kernels, kept.shares, kept.mixed_gradient,
                                     kept.routed});
    out.step(ChannelGradient<Number>{sizes.channels(), sizes, sizes.kernels, weights.routing,
                                     kept.routed, scratch.of_channels});
    out.product(products().back(ends.out_gradient, kept.mixed, scratch.patches));
    out.step(PatchGradient<Number>{sizes.numbers_in(), sizes, ends.in, scratch.patches,
                                   scratch.of_channels, ends.in_gradient});
  }

  template <class Out>
  void weight_gradient(Out& out) const {
    out.step(KernelSums<Number>{sizes.kernels * sizes.weights(), sizes.weights(), sizes.kernels,
                                sizes.examples, kept.shares, kept.mixed_gradient, sums.kernels});
    out.step(RoutingSums<Number>{std::uint64_t{sizes.kernels} * (sizes.channels_in + 1),
                                 sizes.channels_in, sizes.kernels, sizes.examples, kept.means,
                                 kept.routed, sums.routing});
  }

 private:
  ConvolutionProducts<Number> products() const { return {sizes, true}; }
  Patches<Number> patches() const {
    return {sizes.patch_numbers(), sizes, ends.in, scratch.patches};
  }
};

}  // namespace penstock
