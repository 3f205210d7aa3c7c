#include "hardware_models/layers/building/recurrence.hpp"

#include <cmath>

namespace penstock {
namespace {

constexpr double state_bytes = 4;

/// Unless the scan keeps what it reads, I convolves once more.
void add_convolution(LayerWork& work, const Recurrence& layer, const CellShape& shape) {
  const double bytes = shape.tokens() * layer.convolved * shape.activation_size;
  add_vector(work, 2 * bytes, (layer.kept > 0 ? 3 : 4) * bytes);
  work.kernels.push_back(vector_kernel(Pass::backward_weight, 2 * bytes));
}

/// Chunks of all sequences; the last one of a sequence may be shorter, and takes as long.
double chunks_of(const Recurrence& layer, const CellShape& shape) {
  const double tokens = shape.sequence / shape.slices;
  return shape.microbatch * std::ceil(tokens / layer.chunk) / shape.context;
}

void add_scan(LayerWork& work, const Recurrence& layer, std::span<const MatrixProduct> of_chunk,
              const CellShape& shape) {
  const double chunks = chunks_of(layer, shape);
  for (MatrixProduct product : of_chunk) {
    product.batch *= chunks;
    const auto& [rows, inner, columns, batch] = product;
    const auto add = [&](Pass pass, const MatrixProduct& one) {
      work.kernels.push_back(matrix_kernel(pass, one, shape.activation_size));
    };
    add(Pass::forward, product);
    add(Pass::backward_input, product);  // of values that are not kept
    add(Pass::backward_input, {rows, columns, inner, batch});
    add(Pass::backward_input, {inner, rows, columns, batch});
  }
  work.workspace_bytes += chunks * layer.state * state_bytes;
}

void add_gated_norm(LayerWork& work, const Recurrence& layer, const CellShape& shape) {
  const double bytes = shape.tokens() * layer.inner * shape.activation_size;
  add_vector(work, 3 * bytes, 5 * bytes);
}

/// All heads of a part of the sequence become some heads of all of it, and back.
void add_exchange(LayerWork& work, const Recurrence& layer, const CellShape& shape) {
  if (shape.context == 1) return;
  const double bytes = shape.tokens() * (layer.projected + layer.inner) * shape.activation_size;
  for (const Pass pass : {Pass::forward, Pass::backward_input}) {
    add_collective(work, pass, CollectiveKind::all_to_all, bytes, Group::context);
  }
}

}  // namespace

void add_recurrence(LayerWork& work, const Recurrence& layer,
                    std::span<const MatrixProduct> of_chunk, const CellShape& shape) {
  const double number = shape.tokens() * shape.activation_size;
  work.input_bytes = work.output_bytes =
      shape.tokens_outside_tensor() * layer.hidden * shape.activation_size;
  const double input = work.input_bytes * shape.kept_share();
  const double result = number * layer.inner * shape.kept_share();  // input of the last product
  add_dense(work, {shape.tokens(), layer.hidden, layer.projected}, shape.activation_size);
  add_convolution(work, layer, shape);
  add_scan(work, layer, of_chunk, shape);
  add_gated_norm(work, layer, shape);
  add_dense(work, {shape.tokens(), layer.inner, layer.hidden}, shape.activation_size);
  add_exchange(work, layer, shape);
  // The scan's result is kept before the norm and after it.
  work.kept_bytes = input + number * (layer.projected + layer.inner + layer.kept) + result;
  work.uncoded_bytes += narrowed(shape.kept_share(), input + result);
  work.weight_bytes = input + number * layer.convolved + result;
  work.pending_weight_bytes = number * (layer.projected + layer.hidden);
  work.workspace_bytes += number * layer.projected;
  add_residual(work, shape, layer.hidden, false);
  enter_tensor_group(work, shape, layer.hidden);
  leave_tensor_group(work, shape, layer.hidden);
}

}  // namespace penstock
