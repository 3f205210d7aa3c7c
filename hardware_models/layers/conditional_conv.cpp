#include <algorithm>
#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/building/convolution.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::conditional_conv_file {
namespace {

constexpr std::array parameters = [] {
  std::array<Parameter, convolution_parameters.size() + 1> all{};
  std::copy(convolution_parameters.begin(), convolution_parameters.end(), all.begin());
  all.back() = {"kernels", "kernels mixed into one per example", std::nullopt};
  return all;
}();

/// The routing weights: the mean of each channel and a dense layer with a bias. Each device of a
/// tensor group computes all of it and reduces the gradients of the weights.
void add_routing(LayerWork& work, const Convolution& convolution, double kernels,
                 const CellShape& shape) {
  const double image_bytes = convolution.numbers_in() * shape.activation_size;
  const double means = convolution.examples * convolution.channels_in * shape.activation_size;
  const double weights = convolution.examples * kernels * shape.activation_size;
  add_vector(work, image_bytes + means, image_bytes + means);
  add_dense(work, {convolution.examples, convolution.channels_in, kernels}, shape.activation_size);
  count_dense_flops(work, convolution.channels_in * kernels, convolution.examples);
  work.parameters += (convolution.channels_in + 1) * kernels;
  work.held_parameters += (convolution.channels_in + 1) * kernels;
  work.kept_bytes += means + weights;
  work.pending_weight_bytes += weights;
  if (shape.tensor == 1) return;
  add_collective(work, Pass::backward_input, CollectiveKind::all_reduce, weights);
}

/// Mixes the kernels before the convolution: a product of weights by kernels, one row per example.
void add_mixing(LayerWork& work, const Convolution& convolution, double kernels,
                const CellShape& shape) {
  const double weights = convolution.weights() / shape.tensor;
  add_dense(work, {convolution.examples, kernels, weights}, shape.activation_size);
  count_dense_flops(work, convolution.weights() * kernels, convolution.examples);
  work.parameters += kernels * convolution.weights();
  work.held_parameters += kernels * weights;
  const double mixed = convolution.examples * weights * shape.activation_size;
  work.kept_bytes += mixed;
  work.pending_weight_bytes += mixed;
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  Convolution convolution = convolution_of(numbers, shape);
  convolution.weights_by_example = true;
  LayerWork work;
  work.input_bytes = convolution.numbers_in() * shape.activation_size;
  work.output_bytes = convolution.numbers_out() * shape.activation_size;
  add_routing(work, convolution, numbers["kernels"], shape);
  add_mixing(work, convolution, numbers["kernels"], shape);
  add_convolution(work, convolution, shape);
  work.active_parameters = work.parameters;
  return work;
}

}  // namespace

constinit extern const LayerKindEntry conditional_conv_entry{
    "conditional_conv", "conditional convolution: each example mixes its own kernel", parameters,
    work};

}  // namespace penstock::conditional_conv_file
