#include "hardware_models/layers/building/core_attention.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// A token of a slice attends to tokens of the same and earlier slices.
double keys_there(const CoreAttention& core, const CellShape& shape) {
  return core.causal ? shape.sequence * (1 + 1 / shape.slices) / 2 : shape.sequence;
}

/// The values in the keys and values of this many tokens.
double keys_and_values(const CoreAttention& core, double tokens) {
  return tokens * core.kv_heads * (core.query_size + core.value_size);
}

/// F narrows queries, keys and values, I the gradient of the output.
void add_casts(LayerWork& work, const CoreAttention& core, const CellShape& shape) {
  const double bytes = shape.tokens() * (shape.activation_size + shape.attention_size());
  const double queries = core.heads * core.query_size;
  add_vector(work, bytes * (queries + keys_and_values(core, 1)),
             bytes * core.heads * core.value_size);
  for (std::size_t i = work.kernels.size() - 2; i < work.kernels.size(); ++i) {
    work.kernels[i].fused = true;
  }
}

void add_flash(LayerWork& work, const CoreAttention& core, const CellShape& shape) {
  const double tokens = shape.tokens();
  const double log_sums = 4 * tokens * core.heads;
  const double numbers = tokens * core.heads * (core.query_size + core.value_size) +
                         keys_and_values(core, shape.microbatch * keys_there(core, shape));
  Kernel kernel = matrix_kernel(Pass::forward,
                                {shape.sequence / shape.slices / shape.context, core.query_size,
                                 keys_of_token(core, shape), shape.microbatch * core.heads},
                                shape.activation_size);
  kernel.kind = KernelKind::attention;
  kernel.masked = shape.sequence / keys_of_token(core, shape);
  kernel.flops *= 1 + core.value_size / core.query_size;
  kernel.narrows = shape.attention_share < 1;
  kernel.bytes = numbers * shape.attention_size() + log_sums;
  work.kernels.push_back(kernel);
  // Four products, and the scores once more: that one takes time but is no model FLOPs.
  kernel.pass = Pass::backward_input;
  kernel.flops *= 2 + core.query_size / (core.query_size + core.value_size);
  kernel.bytes = 2 * numbers * shape.attention_size() + log_sums;
  work.kernels.push_back(kernel);
  work.kept_bytes += log_sums;
  work.uncoded_bytes += log_sums;
  if (kernel.narrows) add_casts(work, core, shape);
}

void add_products(LayerWork& work, const CoreAttention& core, const CellShape& shape) {
  const double rows = shape.sequence / shape.slices / shape.context;
  const double keys = keys_of_token(core, shape);
  const double batch = shape.microbatch * core.heads;
  const auto add = [&](Pass pass, double size_a, double size_b, double size_c) {
    work.kernels.push_back(
        matrix_kernel(pass, {size_a, size_b, size_c, batch}, shape.activation_size));
  };
  add(Pass::forward, rows, core.query_size, keys);
  add(Pass::forward, rows, keys, core.value_size);
  add(Pass::backward_input, rows, core.value_size, keys);  // gradient of probabilities
  add(Pass::backward_input, keys, rows, core.value_size);  // gradient of values
  add(Pass::backward_input, rows, keys, core.query_size);  // gradient of queries
  add(Pass::backward_input, keys, rows, core.query_size);  // gradient of keys
}

/// Softmax and dropout over all scores.
void add_scores(LayerWork& work, const CoreAttention& core, const CellShape& shape) {
  const double scores = shape.tokens() * core.heads * keys_of_token(core, shape);
  const double bytes = scores * shape.activation_size;
  work.kernels.push_back(vector_kernel(Pass::forward, 2 * bytes));
  work.kernels.push_back(vector_kernel(Pass::backward_input, 3 * bytes));
  work.kept_bytes += bytes;
  work.workspace_bytes += bytes;
  if (!core.dropout) return;
  work.kernels.push_back(vector_kernel(Pass::forward, 2 * bytes + scores));
  work.kernels.push_back(vector_kernel(Pass::backward_input, 2 * bytes + scores));
  work.kept_bytes += bytes + scores;
  work.uncoded_bytes += scores;  // the mask
}

void add_ring(LayerWork& work, const CoreAttention& core, const CellShape& shape) {
  if (shape.context == 1) return;
  // A slice also needs the keys of earlier slices, spread over all devices of the group.
  const double keys = shape.microbatch * keys_there(core, shape) / shape.context;
  const double numbers = keys_and_values(core, shape.slices == 1 ? shape.tokens() : keys);
  const double bytes = numbers * (core.flash ? shape.attention_size() : shape.activation_size);
  Collective ring{.pass = Pass::forward,
                  .kind = CollectiveKind::ring_exchange,
                  .group = Group::context,
                  .bytes = bytes};
  work.collectives.push_back(ring);
  ring.pass = Pass::backward_input;
  ring.bytes = bytes + numbers * shape.activation_size;  // gradients travel with them
  work.collectives.push_back(ring);
  work.workspace_bytes += ring.bytes;
}

}  // namespace

double keys_of_token(const CoreAttention& core, const CellShape& shape) {
  if (!core.flash) return keys_there(core, shape);
  const double most = core.window > 0 ? std::min(core.window, shape.sequence) : shape.sequence;
  // The first tokens see fewer keys: the window reaches past the start.
  return core.causal ? most * (1 - most / (2 * shape.sequence)) : most;
}

void add_core_attention(LayerWork& work, const CoreAttention& core, const CellShape& shape) {
  const NamedOperator scores = begin_operator(work, "core_attention");
  const double kept_before = work.kept_bytes;
  if (core.flash) {
    add_flash(work, core, shape);
  } else {
    add_products(work, core, shape);
    add_scores(work, core, shape);
  }
  add_ring(work, core, shape);
  end_operator(work, scores, work.kept_bytes - kept_before);
  const double of_a_key =
      2 * tokens_of_all(shape) * core.heads * shape.tensor * (core.query_size + core.value_size);
  const double keys = keys_of_token(core, shape);
  work.forward_flops += of_a_key * keys;
  work.backward_flops += 2 * of_a_key * keys;
  work.full_attention_flops += of_a_key * (shape.sequence - keys);
}

}  // namespace penstock
