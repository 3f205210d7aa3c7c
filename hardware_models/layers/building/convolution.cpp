#include "hardware_models/layers/building/convolution.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The kernel of one pass: the FLOPs of a matrix product over unfolded images, the bytes of images
/// and weights only. Unfolded rows are pixels of all images, or of each image.
Kernel kernel_of(const Convolution& convolution, const CellShape& shape, Pass pass,
                 MatrixProduct product) {
  const double own = convolution.weights_by_example ? convolution.examples : 1;
  product.batch = convolution.groups * own;
  Kernel kernel = matrix_kernel(pass, product, shape.activation_size);
  kernel.bytes = (convolution.numbers_in() + convolution.weights() * own / shape.tensor +
                  convolution.numbers_out() / shape.tensor) *
                 shape.activation_size;
  return kernel;
}

void add_products(LayerWork& work, const Convolution& convolution, const CellShape& shape) {
  const double own = convolution.weights_by_example ? convolution.examples : 1;
  const double out = convolution.channels_out / convolution.groups / shape.tensor;
  const double in = convolution.channels_in / convolution.groups;
  const double unfolded = in * convolution.kernel_height * convolution.kernel_width;
  const double places_in = convolution.numbers_in() / convolution.channels_in / own;
  const double places_out = convolution.numbers_out() / convolution.channels_out / own;
  // The products of F spread over the input pixels.
  const double folded = places_out * unfolded * out / (places_in * in);
  const Pass weights =
      convolution.weights_by_example ? Pass::backward_input : Pass::backward_weight;
  work.kernels.push_back(kernel_of(convolution, shape, Pass::forward, {places_out, unfolded, out}));
  work.kernels.push_back(
      kernel_of(convolution, shape, Pass::backward_input, {places_in, folded, in}));
  work.kernels.push_back(kernel_of(convolution, shape, weights, {unfolded, places_out, out}));
  const double flops = 2 * convolution.weights() * places_out * own;
  work.forward_flops += flops;
  work.backward_flops += 2 * flops;
}

/// Batch norm statistics take one more read.
void add_around(LayerWork& work, const Convolution& convolution, const CellShape& shape) {
  const double in = convolution.numbers_in() * shape.activation_size;
  const double out = convolution.numbers_out() / shape.tensor * shape.activation_size;
  if (convolution.relu) add_vector(work, 2 * in, 3 * in);
  if (convolution.batch_norm) {
    add_vector(work, 3 * out, 5 * out);
    work.kept_bytes += out;
  }
  work.kept_bytes += in;
  if (!convolution.weights_by_example) work.pending_weight_bytes += out;
  work.workspace_bytes += out;
}

void count_parameters(LayerWork& work, const Convolution& convolution, double tensor) {
  const double of_a_channel = (convolution.batch_norm ? 2 : 0) + (convolution.bias ? 1 : 0);
  const double shared = convolution.weights_by_example ? 0 : convolution.weights();
  const double parameters = shared + convolution.channels_out * of_a_channel;
  work.parameters += parameters;
  work.active_parameters += parameters;
  work.held_parameters += parameters / tensor;
}

void add_collectives(LayerWork& work, const Convolution& convolution, const CellShape& shape) {
  if (shape.tensor == 1) return;
  add_collective(work, Pass::forward, CollectiveKind::all_gather,
                 convolution.numbers_out() * shape.activation_size);
  add_collective(work, Pass::backward_input, CollectiveKind::all_reduce,
                 convolution.numbers_in() * shape.activation_size);
}

}  // namespace

double Convolution::weights() const {
  return channels_out * channels_in / groups * kernel_height * kernel_width;
}

double Convolution::numbers_in() const { return examples * channels_in * height * width; }

double Convolution::numbers_out() const {
  return examples * channels_out * strided(height, stride) * strided(width, stride);
}

double strided(double side, double stride) { return std::ceil(side / stride); }

double images_of(const CellShape& shape) {
  if (shape.context == 1) return shape.microbatch / shape.slices;
  throw InputError("",
                   "images have no sequence for context parallelism to shard; context must be 1");
}

void add_convolution(LayerWork& work, const Convolution& convolution, const CellShape& shape) {
  add_products(work, convolution, shape);
  add_around(work, convolution, shape);
  count_parameters(work, convolution, shape.tensor);
  add_collectives(work, convolution, shape);
}

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
