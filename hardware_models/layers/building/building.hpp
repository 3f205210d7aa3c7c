#pragma once

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// A product of matrices as one device runs it: rows x inner by inner x columns, and how many of
/// them at once.
struct MatrixProduct {
  double rows = 0;
  double inner = 0;
  double columns = 0;
  double batch = 1;
};

/// A product reads both its factors and writes what comes out, each once.
Kernel matrix_kernel(Pass pass, const MatrixProduct& product, double number_bytes);

/// A kernel that moves bytes and does next to nothing with them.
Kernel vector_kernel(Pass pass, double bytes);

/// Adds a product with weights: F, I by the transposed weights, W by the transposed input. A bias
/// is added and its gradient summed inside them.
void add_dense(LayerWork& work, const MatrixProduct& product, double number_bytes);

/// Adds what one application of so many weights to so many tokens of the model counts.
void count_dense_flops(LayerWork& work, double weights, double tokens);

/// Adds the sum with what went around the layer, behind dropout where there is one.
void add_residual(LayerWork& work, const CellShape& shape, double hidden, bool dropout);

/// The tokens of a cell over all devices that share it.
double tokens_of_all(const CellShape& shape);

/// What each device has of rows that are padded until they come out even, as vocabularies are.
double padded_share(double rows, double devices);

}  // namespace penstock
