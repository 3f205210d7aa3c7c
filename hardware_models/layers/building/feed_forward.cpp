#include "hardware_models/layers/building/feed_forward.hpp"

#include "hardware_models/layers/building/building.hpp"

namespace penstock {
namespace {

/// Outputs of the first dense layer per token.
double wide(const FeedForward& network) { return network.intermediate * (network.gated ? 2 : 1); }

}  // namespace

double weights_of(const FeedForward& network) {
  return network.hidden * (wide(network) + network.intermediate);
}

void add_feed_forward(LayerWork& work, const FeedForward& network, const CellShape& shape) {
  const auto& [hidden, intermediate, gated, tokens, networks] = network;
  const double rows = tokens / networks;
  const double number = tokens * shape.activation_size;
  const double inside = number * (wide(network) + intermediate);
  const double gradient = number * wide(network);
  add_dense(work, {rows, hidden, wide(network), networks}, shape.activation_size);
  work.kernels.push_back(vector_kernel(Pass::forward, inside));
  work.kernels.push_back(vector_kernel(Pass::backward_input, inside + gradient));
  add_dense(work, {rows, intermediate, hidden, networks}, shape.activation_size);
  work.kept_bytes += inside;
  work.kept_selective_bytes += inside;
  work.weight_bytes = work.weight_bytes.value_or(0) + number * intermediate;
  work.pending_weight_bytes += gradient + number * hidden;
  work.workspace_bytes += gradient;
}

}  // namespace penstock
