#include "hardware_models/layers/building/building.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Outputs of the first dense layer per token.
double wide(const FeedForward& network) { return network.intermediate * (network.gated ? 2 : 1); }

void add(std::optional<double>& sum, const std::optional<double>& part) {
  if (!part) sum.reset();
  if (sum) *sum += *part;
}

}  // namespace

void close_with_product(LayerWork& work) {
  bool closes = true;
  for (auto kernel = work.kernels.rbegin(); kernel != work.kernels.rend() && closes; ++kernel) {
    if (kernel->pass != Pass::forward) continue;
    kernel->closes = true;
    closes = kernel->kind != KernelKind::matrix;
  }
  for (Collective& one : work.collectives) {
    const bool leaves =
        one.kind == CollectiveKind::all_reduce || one.kind == CollectiveKind::reduce_scatter;
    one.closes = one.pass == Pass::forward && leaves;
  }
}

void append(LayerWork& block, LayerWork part) {
  for (Kernel& kernel : block.kernels) kernel.closes = false;
  for (Collective& one : block.collectives) one.closes = false;
  block.parameters += part.parameters;
  block.active_parameters += part.active_parameters;
  block.held_parameters += part.held_parameters;
  block.held_expert_parameters += part.held_expert_parameters;
  block.tied_parameters += part.tied_parameters;
  block.forward_flops += part.forward_flops;
  block.backward_flops += part.backward_flops;
  block.full_attention_flops += part.full_attention_flops;
  block.output_bytes = part.output_bytes;
  block.handing_on = std::move(part.handing_on);
  block.kept_selective_bytes += part.kept_selective_bytes;
  block.uncoded_selective_bytes += part.uncoded_selective_bytes;
  block.uncoded_bytes += part.uncoded_bytes;
  block.weight_bytes = needed_by_weight(block) + needed_by_weight(part);
  block.kept_bytes += part.kept_bytes;
  block.pending_weight_bytes += part.pending_weight_bytes;
  block.workspace_bytes = std::max(block.workspace_bytes, part.workspace_bytes);
  block.kernels.insert(block.kernels.end(), part.kernels.begin(), part.kernels.end());
  block.collectives.insert(block.collectives.end(), part.collectives.begin(),
                           part.collectives.end());
  add(block.forward_us, part.forward_us);
  add(block.backward_us, part.backward_us);
  add(block.backward_input_us, part.backward_input_us);
  add(block.backward_weight_us, part.backward_weight_us);
}

Kernel matrix_kernel(Pass pass, const MatrixProduct& product, double number_bytes) {
  const auto& [rows, inner, columns, batch] = product;
  return {.pass = pass,
          .kind = KernelKind::matrix,
          .flops = 2 * batch * rows * inner * columns,
          .bytes = batch * (rows * inner + inner * columns + rows * columns) * number_bytes,
          .rows = rows,
          .columns = columns,
          .inner = inner,
          .batch = batch};
}

Kernel vector_kernel(Pass pass, double bytes) { return {.pass = pass, .bytes = bytes}; }

void add_vector(LayerWork& work, double forward_bytes, double backward_bytes) {
  work.kernels.push_back(vector_kernel(Pass::forward, forward_bytes));
  work.kernels.push_back(vector_kernel(Pass::backward_input, backward_bytes));
}

NamedOperator begin_operator(const LayerWork& work, std::string_view name) {
  return {.name = name,
          .kernel = work.kernels.size(),
          .collective = work.collectives.size(),
          .uncoded_bytes = work.uncoded_bytes};
}

void end_operator(LayerWork& work, NamedOperator one, double kept_bytes) {
  one.kernels_end = work.kernels.size();
  one.collectives_end = work.collectives.size();
  one.kept_bytes = kept_bytes;
  one.uncoded_bytes = work.uncoded_bytes - one.uncoded_bytes;
  work.operators.push_back(one);
}

void add_collective(LayerWork& work, Pass pass, CollectiveKind kind, double bytes, Group group) {
  work.collectives.push_back({.pass = pass, .kind = kind, .group = group, .bytes = bytes});
}

void add_dense(LayerWork& work, const MatrixProduct& product, double number_bytes) {
  const auto& [rows, inner, columns, batch] = product;
  const MatrixProduct input_gradient{rows, columns, inner, batch};
  const MatrixProduct weight_gradient{inner, rows, columns, batch};
  const auto add = [&](Pass pass, const MatrixProduct& of_pass) {
    work.kernels.push_back(matrix_kernel(pass, of_pass, number_bytes));
    work.kernels.back().narrows = true;
  };
  add(Pass::forward, product);
  add(Pass::backward_input, input_gradient);
  add(Pass::backward_weight, weight_gradient);
}

void count_dense_flops(LayerWork& work, double weights, double tokens) {
  work.forward_flops += 2 * weights * tokens;
  work.backward_flops += 4 * weights * tokens;
}

void add_residual(LayerWork& work, const CellShape& shape, double hidden, bool dropout) {
  const double numbers = shape.tokens_outside_tensor() * hidden;
  const double sum = 3 * numbers * shape.activation_size;
  const double mask = dropout ? numbers : 0;
  // Before I the gradient also passes the mask alone.
  const double masked = dropout ? 2 * numbers * shape.activation_size + mask : 0;
  add_vector(work, sum + mask, sum + masked);
  work.kept_bytes += mask;
  work.uncoded_bytes += mask;
}

double tokens_of_all(const CellShape& shape) {
  return shape.sequence * shape.microbatch / shape.slices;
}

double padded_share(double rows, double devices) { return std::ceil(rows / devices); }

std::optional<double> LayerNumbers::given(std::string_view name) const {
  const auto value = values_.find(name);
  if (value == values_.end() || std::isnan(value->second)) return std::nullopt;
  return value->second;
}

double LayerNumbers::share(std::string_view name, double degree, std::string_view group) const {
  const double value = (*this)[name];
  if (std::fmod(value, degree) == 0) return value / degree;
  throw InputError(
      pointer_step(name),
      fmt::format("{} is not divisible among {} devices of {} parallelism; it must be a multiple "
                  "of that",
                  value, degree, group));
}

double shared_heads(std::string_view name, double heads, double tensor) {
  if (std::fmod(heads, tensor) == 0) return heads / tensor;
  if (std::fmod(tensor, heads) == 0) return 1;
  throw InputError(pointer_step(name),
                   fmt::format("{} is not divisible among {} tensor-parallel devices; "
                               "one of these must divide the other",
                               heads, tensor));
}

void enter_tensor_group(LayerWork& work, const CellShape& shape, double numbers) {
  if (shape.tensor == 1) return;
  const double bytes = shape.tokens() * numbers * shape.activation_size;
  if (!shape.sequence_parallel) {
    add_collective(work, Pass::backward_input, CollectiveKind::all_reduce, bytes);
    return;
  }
  gather_in(work, bytes, Group::tensor);
}

void gather_in(LayerWork& work, double bytes, Group group) {
  add_collective(work, Pass::forward, CollectiveKind::all_gather, bytes, group);
  add_collective(work, Pass::backward_input, CollectiveKind::reduce_scatter, bytes, group);
  add_collective(work, Pass::backward_weight, CollectiveKind::all_gather, bytes, group);
  work.workspace_bytes += bytes;
}

void leave_tensor_group(LayerWork& work, const CellShape& shape, double numbers, Pass backward) {
  if (shape.tensor == 1) return;
  const double bytes = shape.tokens() * numbers * shape.activation_size;
  if (!shape.sequence_parallel) {
    add_collective(work, Pass::forward, CollectiveKind::all_reduce, bytes);
    return;
  }
  scatter_in(work, bytes, Group::tensor, backward);
}

void scatter_in(LayerWork& work, double bytes, Group group, Pass backward) {
  add_collective(work, Pass::forward, CollectiveKind::reduce_scatter, bytes, group);
  add_collective(work, backward, CollectiveKind::all_gather, bytes, group);
}

double weights_of(const FeedForward& network) {
  return network.hidden * (wide(network) + network.intermediate);
}

double biases_of(const FeedForward& network) { return wide(network) + network.hidden; }

void add_feed_forward(LayerWork& work, const FeedForward& network, const CellShape& shape,
                      std::string_view activation) {
  const auto& [hidden, intermediate, gated, tokens, networks] = network;
  const double rows = tokens / networks;
  const double number = tokens * shape.activation_size;
  const double inside = number * (wide(network) + intermediate);
  const double gradient = number * wide(network);
  add_dense(work, {rows, hidden, wide(network), networks}, shape.activation_size);
  const NamedOperator between = begin_operator(work, activation);
  add_vector(work, inside, inside + gradient);
  const double activated = number * intermediate * shape.kept_share();
  work.uncoded_bytes += narrowed(shape.kept_share(), activated);
  if (!activation.empty()) end_operator(work, between, activated);
  add_dense(work, {rows, intermediate, hidden, networks}, shape.activation_size);
  work.kept_bytes += number * wide(network) + activated;
  work.weight_bytes = work.weight_bytes.value_or(0) + activated;
  work.pending_weight_bytes += gradient + number * hidden;
  work.workspace_bytes += gradient;
}

}  // namespace penstock
