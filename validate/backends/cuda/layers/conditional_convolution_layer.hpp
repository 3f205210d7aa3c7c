#pragma once

#include "validate/backends/cuda/layers/convolution_layer.hpp"
#include "validate/backends/cuda/layers/mixed_kernels.hpp"

namespace penstock {

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
