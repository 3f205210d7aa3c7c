#include <fmt/format.h>

#include <cmath>

#include "validate/kernels/registry.hpp"

namespace penstock {
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
  return why_not_flag(numbers, "passing",
                      "the image_map kernel passes nothing through; set it to 0");
}

std::size_t rows_in(const LayerNumbers& numbers) {
  return size_of(numbers, "channels_in") * size_of(numbers, "height") * size_of(numbers, "width");
}
std::size_t rows_out(const LayerNumbers& numbers) {
  return rows_in(numbers) / window(numbers) / window(numbers);
}
std::vector<WeightSpec> weights(const LayerNumbers&) { return {}; }

/// Calls `visit(output index, input index)` over all channels.
template <class Visitor>
void for_each_place(const LayerNumbers& numbers, Visitor visit) {
  const std::size_t width = size_of(numbers, "width");
  const std::size_t side = window(numbers);
  for (std::size_t in = 0; in < rows_in(numbers); ++in) {
    const std::size_t line = in / width;  // over all channels; windows divide the heights
    visit(line / side * (width / side) + in % width / side, in);
  }
}

/// Keeps the index of each window's maximum, where the gradient goes.
void pool_largest(const LayerNumbers& numbers, const double* in, double* out, double* largest) {
  const std::size_t count = rows_out(numbers);
  std::fill(out, out + count, -HUGE_VAL);
  for_each_place(numbers, [&](std::size_t to, std::size_t from) {
    if (in[from] <= out[to]) return;
    out[to] = in[from];
    largest[to] = static_cast<double>(from);
  });
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  const LayerNumbers& numbers = run.numbers;
  Tensor out(rows_out(numbers), in.columns);
  kept.resize(kept_count);
  const double share = 1 / static_cast<double>(window(numbers) * window(numbers));
  if (numbers.is("keeps_input")) kept[chosen] = Tensor(out.rows, out.columns);
  for (std::size_t image = 0; image < in.columns; ++image) {
    const double* const from = &in.values[image * in.rows];
    double* const to = &out.values[image * out.rows];
    if (numbers.is("keeps_input")) {
      pool_largest(numbers, from, to, &kept[chosen].values[image * out.rows]);
    } else {
      for_each_place(numbers, [&](std::size_t o, std::size_t i) { to[o] += share * from[i]; });
    }
  }
  return out;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  const LayerNumbers& numbers = run.numbers;
  Tensor before(rows_in(numbers), gradient.columns);
  const double share = 1 / static_cast<double>(window(numbers) * window(numbers));
  for (std::size_t image = 0; image < gradient.columns; ++image) {
    const double* const above = &gradient.values[image * gradient.rows];
    double* const to = &before.values[image * before.rows];
    if (!numbers.is("keeps_input")) {
      for_each_place(numbers, [&](std::size_t o, std::size_t i) { to[i] += share * above[o]; });
      continue;
    }
    const double* const largest = &kept[chosen].values[image * gradient.rows];
    for (std::size_t place = 0; place < gradient.rows; ++place) {
      to[static_cast<std::size_t>(largest[place])] += above[place];
    }
  }
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

}  // namespace penstock
