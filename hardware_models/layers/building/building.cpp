#include "hardware_models/layers/building/building.hpp"

#include <cmath>

namespace penstock {

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
  work.kernels.push_back(vector_kernel(Pass::forward, sum + mask));
  work.kernels.push_back(vector_kernel(Pass::backward_input, sum + masked));
  work.kept_bytes += mask;
  work.kept_selective_bytes += mask;
}

double tokens_of_all(const CellShape& shape) {
  return shape.sequence * shape.microbatch / shape.slices;
}

double padded_share(double rows, double devices) { return std::ceil(rows / devices); }

}  // namespace penstock
