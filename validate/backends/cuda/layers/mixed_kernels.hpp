#pragma once

#include "validate/backends/cuda/layers/activation.hpp"
#include "validate/backends/cuda/layers/image_patches.hpp"

namespace penstock {

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

}  // namespace penstock
