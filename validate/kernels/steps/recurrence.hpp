#pragma once

#include <Eigen/Core>
#include <vector>

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// The sizes of a layer with a state. The rows of its projection are those that are convolved, the
/// gate, and the steps of the heads.
struct RecurrentSizes {
  std::size_t hidden = 1;
  std::size_t convolved = 1;
  std::size_t inner = 1;  // of the gate, and of what leaves the scan
  std::size_t steps = 1;
  std::size_t conv = 1;    // tokens
  std::size_t normed = 1;  // numbers of a norm, of `inner`; 0: no norm
  bool gate_first = true;  // before the norm
  bool conv_bias = false;
  bool in_bias = false;
  bool out_bias = false;

  std::size_t projected() const { return convolved + inner + steps; }
};

/// One sequence: a column a token. The scan's own weights are vectors, in an order of its own.
struct ScanInput {
  Eigen::MatrixXd convolved;
  Eigen::MatrixXd steps;
};

/// What a scan does between convolution and gate.
class RecurrentScan {
 public:
  RecurrentScan() = default;
  RecurrentScan(const RecurrentScan&) = delete;
  RecurrentScan& operator=(const RecurrentScan&) = delete;
  virtual ~RecurrentScan() = default;

  virtual RecurrentSizes sizes() const = 0;
  virtual std::vector<WeightSpec> weights() const = 0;
  virtual Eigen::MatrixXd run(const ScanInput& in, const Eigen::VectorXd* weights) const = 0;
  /// The gradient of the input; adds that of the weights.
  virtual ScanInput gradient(const ScanInput& in, const Eigen::VectorXd* weights,
                             const Eigen::MatrixXd& above, Eigen::VectorXd* sums) const = 0;
};

/// The layer around a scan: projection, causal convolution of each channel with SiLU, scan, gate
/// (SiLU) and norm, projection back.
std::vector<WeightSpec> recurrent_weights(const RecurrentScan& scan);
Tensor recurrent_forward(const RecurrentScan& scan, const LayerRun& run, Tensor in, Tensors& kept);
Tensor recurrent_input_gradient(const RecurrentScan& scan, const LayerRun& run, Tensor gradient,
                                Tensors& kept);
void recurrent_weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums);

}  // namespace penstock
