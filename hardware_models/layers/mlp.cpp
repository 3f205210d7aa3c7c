#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::mlp_file {
namespace {

constexpr std::array parameters{
    Parameter{"hidden", "hidden size", std::nullopt},
    Parameter{"intermediate", "size between the dense layers", std::nullopt},
    flag("gated", "1: gated, as in SwiGLU", 0), flag("bias", "1: bias on the dense layers", 0),
    Parameter{"dropout", "dropout probability on outputs", 0, 0, 1, false}};

double parameters_of(const FeedForward& network, bool bias) {
  return weights_of(network) + (bias ? biases_of(network) : 0);
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const FeedForward whole{numbers["hidden"], numbers["intermediate"], numbers.is("gated")};
  FeedForward own = whole;
  own.intermediate = numbers.share("intermediate", shape.tensor);
  own.tokens = shape.tokens();
  LayerWork work;
  work.parameters = parameters_of(whole, numbers.is("bias"));
  work.active_parameters = work.parameters;
  work.held_parameters = parameters_of(own, numbers.is("bias"));
  const double bytes = shape.tokens_outside_tensor() * whole.hidden * shape.activation_size;
  work.input_bytes = work.output_bytes = bytes;
  work.kept_bytes = bytes * shape.kept_share();
  work.uncoded_bytes = narrowed(shape.kept_share(), work.kept_bytes);
  work.weight_bytes = work.kept_bytes;
  count_dense_flops(work, weights_of(whole), tokens_of_all(shape));
  add_feed_forward(work, own, shape, "mlp_activation");
  add_residual(work, shape, whole.hidden, numbers.is("dropout"));
  enter_tensor_group(work, shape, whole.hidden);
  leave_tensor_group(work, shape, whole.hidden);
  if (!numbers.is("dropout")) close_with_product(work);  // the mask stands behind it
  return work;
}

}  // namespace

constinit extern const LayerKindEntry mlp_entry{
    "mlp", "two dense layers with an activation, plain or gated", parameters, work};

}  // namespace penstock::mlp_file
