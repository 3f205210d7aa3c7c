#pragma once

#include <cstdint>

#include "validate/backends/cuda/arithmetic/number.hpp"
#include "validate/backends/cuda/arithmetic/team.hpp"

namespace penstock {

// A convolution is a product of patches, what lies under the kernel at each place, and weights.
// Edges are padded with zeros, kernels are centred; a stride of n keeps every n-th place.

/// Images lie one after the other, channel by channel, row by row.
struct ImageSizes {
  std::uint32_t examples;
  std::uint32_t channels_in;
  std::uint32_t channels_out;
  std::uint32_t height;
  std::uint32_t width;
  std::uint32_t kernel;
  std::uint32_t stride;
  bool relu;  // before the convolution

  PENSTOCK_BOTH std::uint32_t height_out() const { return (height + stride - 1) / stride; }
  PENSTOCK_BOTH std::uint32_t width_out() const { return (width + stride - 1) / stride; }
  PENSTOCK_BOTH std::uint32_t places_in() const { return height * width; }
  PENSTOCK_BOTH std::uint32_t places_out() const { return height_out() * width_out(); }
  /// Numbers under the kernel.
  PENSTOCK_BOTH std::uint32_t window() const { return channels_in * kernel * kernel; }
  PENSTOCK_BOTH std::uint64_t weights() const { return std::uint64_t{window()} * channels_out; }
  PENSTOCK_BOTH std::uint64_t numbers_in() const {
    return std::uint64_t{examples} * channels_in * places_in();
  }
  PENSTOCK_BOTH std::uint64_t numbers_out() const {
    return std::uint64_t{examples} * channels_out * places_out();
  }
  PENSTOCK_BOTH std::uint64_t patch_numbers() const {
    return std::uint64_t{examples} * window() * places_out();
  }
  /// Rows and columns of zeros before an image.
  PENSTOCK_BOTH std::uint32_t before() const { return (kernel - 1) / 2; }

  /// What the convolution sees of a number.
  template <class Sum>
  PENSTOCK_BOTH Sum seen(Sum value) const {
    return relu && value < 0 ? 0 : value;
  }
};

/// The patches of all images, an element per number: a column per number under the kernel, a row
/// per place.
template <class Number>
struct Patches {
  static constexpr unsigned lanes = 0;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  ImageSizes sizes;
  const Number* in;
  Number* out;

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    const std::uint32_t kernel = sizes.kernel;
    const auto place = static_cast<std::uint32_t>(i % sizes.places_out());
    const std::uint64_t column = i / sizes.places_out();
    const auto number = static_cast<std::uint32_t>(column % sizes.window());
    const std::uint64_t image = column / sizes.window();
    // Numbers before an image wrap around to large ones.
    const std::uint32_t line =
        place / sizes.width_out() * sizes.stride + number / kernel % kernel - sizes.before();
    const std::uint32_t spot =
        place % sizes.width_out() * sizes.stride + number % kernel - sizes.before();
    Sum value = 0;
    if (line < sizes.height && spot < sizes.width) {
      const std::uint64_t channel = image * sizes.channels_in + number / (kernel * kernel);
      value = sizes.seen(value_of(in[(channel * sizes.height + line) * sizes.width + spot]));
    }
    out[i] = rounded<Number>(value);
  }
};

/// The gradient of images from that of their patches, an element per number of the images.
template <class Number>
struct PatchGradient {
  static constexpr unsigned lanes = 0;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  ImageSizes sizes;
  const Number* in;
  const Number* patch_gradient;
  const Sum* of_channels;  // more, by channel of an image; null: nothing
  Number* in_gradient;

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    if (sizes.relu && !(value_of(in[i]) > 0)) {
      in_gradient[i] = rounded<Number>(0);
      return;
    }
    const auto spot = static_cast<std::uint32_t>(i % sizes.width);
    const auto line = static_cast<std::uint32_t>(i / sizes.width % sizes.height);
    const std::uint64_t channel = i / sizes.places_in();  // of all images
    const std::uint64_t first = channel * sizes.kernel * sizes.kernel;
    Sum sum = of_channels == nullptr ? 0 : of_channels[channel];
    for (std::uint32_t down = 0; down < sizes.kernel; ++down) {
      const std::uint32_t y = line + sizes.before() - down;  // wraps above the image
      if (y % sizes.stride != 0 || y / sizes.stride >= sizes.height_out()) continue;
      for (std::uint32_t across = 0; across < sizes.kernel; ++across) {
        const std::uint32_t x = spot + sizes.before() - across;
        if (x % sizes.stride != 0 || x / sizes.stride >= sizes.width_out()) continue;
        const std::uint64_t column = first + down * sizes.kernel + across;
        const std::uint32_t place = y / sizes.stride * sizes.width_out() + x / sizes.stride;
        sum += value_of(patch_gradient[column * sizes.places_out() + place]);
      }
    }
    in_gradient[i] = rounded<Number>(sum);
  }
};

}  // namespace penstock
