#pragma once

#include <span>

#include "hardware_models/layers/building/building.hpp"

namespace penstock {

/// A layer that carries a state along the sequence, on one device: a projection of its input, a
/// short convolution over some of the projected channels, a scan, a norm gated by other channels,
/// and the projection of the result. A scan runs in chunks: products of matrices inside each, and
/// a state that goes from one to the next.
struct Recurrence {
  double hidden = 1;
  double projected = 1;  // numbers of a token
  double convolved = 1;  // of these
  double inner = 1;      // numbers that leave the scan
  double kept = 0;       // numbers of a token that the scan keeps for its backward
  double state = 0;      // numbers that a sequence hands on
  double chunk = 1;      // tokens whose products are matrices
};

/// Adds kernels, input and output, what is kept, and the exchange of heads under context
/// parallelism: each device then scans its share of the heads over the whole sequence. `of_chunk`
/// are the products of a chunk in F; I has two for each, and those of the states once more. No
/// weights of the layer are counted.
void add_recurrence(LayerWork& work, const Recurrence& layer,
                    std::span<const MatrixProduct> of_chunk, const CellShape& shape);

}  // namespace penstock
