#pragma once

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// Batched matrix products on one device: rows x inner by inner x columns, `count` at once.
struct MatrixProduct {
  double rows = 0;
  double inner = 0;
  double columns = 0;
  double batch = 1;
};

/// A product reads both factors and writes its result, once each.
Kernel matrix_kernel(Pass pass, const MatrixProduct& product, double number_bytes);

/// A memory-bound kernel.
Kernel vector_kernel(Pass pass, double bytes);

/// Adds a product with weights: F, I with the transposed weights, W with the transposed input. They
/// include the bias and its gradient.
void add_dense(LayerWork& work, const MatrixProduct& product, double number_bytes);

/// Adds the model FLOPs of applying `weights` to `tokens`.
void count_dense_flops(LayerWork& work, double weights, double tokens);

/// Adds the residual sum, after dropout if there is any.
void add_residual(LayerWork& work, const CellShape& shape, double hidden, bool dropout);

/// The tokens of a cell over all devices that share it.
double tokens_of_all(const CellShape& shape);

/// One device's share of rows padded to a multiple of the devices, as vocabularies are.
double padded_share(double rows, double devices);

}  // namespace penstock
