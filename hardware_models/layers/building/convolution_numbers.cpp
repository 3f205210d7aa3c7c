#include "hardware_models/layers/building/convolution_numbers.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/error.hpp"

namespace penstock {

Convolution convolution_of(const LayerNumbers& numbers, const CellShape& shape) {
  const double groups = numbers["groups"];
  for (const char* channels : {"channels_in", "channels_out"}) {
    if (std::fmod(numbers[channels], groups) == 0) continue;
    throw InputError("/groups", fmt::format("{} groups do not divide the {} of {}", groups,
                                            numbers[channels], channels));
  }
  numbers.share("channels_out", shape.tensor);
  return {.examples = images_of(shape),
          .channels_in = numbers["channels_in"],
          .channels_out = numbers["channels_out"],
          .height = numbers["height"],
          .width = numbers["width"],
          .kernel_height = numbers["kernel"],
          .kernel_width = numbers["kernel"],
          .stride = numbers["stride"],
          .groups = groups,
          .relu = numbers.is("relu"),
          .batch_norm = numbers.is("batch_norm"),
          .bias = numbers.is("bias")};
}

}  // namespace penstock
