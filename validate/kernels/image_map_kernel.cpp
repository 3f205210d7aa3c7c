#include <fmt/format.h>

#include <cmath>

#include "validate/kernels/images/pooling.hpp"
#include "validate/kernels/registry.hpp"

namespace penstock::image_map_kernel_file {
namespace {

enum Keeps : std::size_t { chosen, kept_count };  // index of each maximum

/// The side of a pooling window.
std::size_t window(const LayerNumbers& numbers) {
  return static_cast<std::size_t>(std::llround(1 / numbers["scale"]));
}

/// Only pooling over disjoint squares is supported.
std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape&) {
  const double scale = numbers["scale"];
  const double side = std::round(1 / scale);
  if (side < 2 || std::abs(side * scale - 1) > 1e-9) {
    return fmt::format(
        "\"scale\" {}: the image_map kernel pools squares; set it to 1 over a whole number, such "
        "as 0.5",
        scale);
  }
  for (const char* name : {"height", "width"}) {
    if (std::fmod(numbers[name], side) == 0) continue;
    return fmt::format("\"{}\" {}: must be a multiple of the window, {}", name, numbers[name],
                       side);
  }
  if (numbers["images"] > 1) return "\"images\": the image_map kernel takes one input; set it to 1";
  if (numbers.given("channels_out").value_or(numbers["channels_in"]) != numbers["channels_in"]) {
    return "\"channels_out\": a pool keeps the number of channels";
  }
  if (!numbers.is("passing")) return std::nullopt;
  return fmt::format("\"passing\" {}: the image_map kernel passes nothing through; set it to 0",
                     numbers["passing"]);
}

std::size_t rows_in(const LayerNumbers& numbers) {
  return size_of(numbers, "channels_in") * size_of(numbers, "height") * size_of(numbers, "width");
}
std::size_t rows_out(const LayerNumbers& numbers) {
  return rows_in(numbers) / window(numbers) / window(numbers);
}
std::vector<WeightSpec> weights(const LayerNumbers&) { return {}; }

Pooling pooling_of(const LayerNumbers& numbers) {
  return {.channels = size_of(numbers, "channels_in"),
          .height = size_of(numbers, "height"),
          .width = size_of(numbers, "width"),
          .window = window(numbers),
          .stride = window(numbers),
          .largest = numbers.is("keeps_input")};
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  kept.resize(kept_count);
  return pooled(pooling_of(run.numbers), in, kept[chosen]);
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  Tensor before = pooled_gradient(pooling_of(run.numbers), gradient, kept[chosen]);
  kept.clear();
  return before;
}

void weight_gradient(const LayerRun&, const Tensors&, Tensors&) {}

}  // namespace

constinit extern const KernelEntry image_map_kernel_entry{
    .name = "image_map",
    .columns = Columns::images,
    .why_not = why_not,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
    .exact = 1U << chosen,
};

}  // namespace penstock::image_map_kernel_file
