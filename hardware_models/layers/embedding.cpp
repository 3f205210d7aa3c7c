#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::embedding_file {
namespace {

constexpr std::array parameters{Parameter{"vocab", "vocabulary size", std::nullopt},
                                Parameter{"hidden", "hidden size", std::nullopt},
                                Parameter{"positions", "learned positions; 0: none", 0, 0},
                                Parameter{"dropout", "dropout probability", 0, 0, 1, false}};

constexpr double token_number_bytes = 8;

/// Looks up rows; W adds gradients to them. There is no I.
void add_kernels(LayerWork& work, const LayerNumbers& numbers, const CellShape& shape) {
  const double rows = shape.tokens() * numbers["hidden"] * shape.activation_size;
  work.kernels = {vector_kernel(Pass::forward, 2 * rows),
                  vector_kernel(Pass::backward_weight, 3 * rows)};
  const double outside = shape.tokens_outside_tensor() * numbers["hidden"];
  if (numbers.is("positions")) {
    work.kernels.push_back(vector_kernel(Pass::forward, 3 * outside * shape.activation_size));
    work.kernels.push_back(
        vector_kernel(Pass::backward_weight, 3 * outside * shape.activation_size));
  }
  if (numbers.is("dropout")) {
    const double bytes = outside * (2 * shape.activation_size + 1);
    work.kernels.push_back(vector_kernel(Pass::forward, bytes));
    work.kernels.push_back(vector_kernel(Pass::backward_weight, bytes));
  }
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double hidden = numbers["hidden"];
  const double positions = numbers["positions"] * hidden;
  const double outside = shape.tokens_outside_tensor() * hidden;
  LayerWork work;
  work.parameters = numbers["vocab"] * hidden + positions;
  work.active_parameters = work.parameters;
  work.held_parameters = padded_share(numbers["vocab"], shape.tensor) * hidden + positions;
  work.input_bytes = token_number_bytes * shape.tokens();
  work.output_bytes = outside * shape.activation_size;
  work.kept_bytes = work.input_bytes + (numbers.is("dropout") ? outside : 0);
  work.uncoded_bytes = work.kept_bytes;  // numbers of tokens, and the mask
  work.pending_weight_bytes = work.output_bytes;
  add_kernels(work, numbers, shape);
  leave_tensor_group(work, shape, hidden, Pass::backward_weight);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry embedding_entry{
    "embedding", "token and position embedding, memory-bound", parameters, work};

}  // namespace penstock::embedding_file
