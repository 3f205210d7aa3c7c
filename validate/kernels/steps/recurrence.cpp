#include "validate/kernels/steps/recurrence.hpp"

#include <utility>

#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

enum RecurrentWeight : std::size_t { project_in, convolve_by, project_out, first_own_weight };
// What F keeps. I replaces the projection by its gradient, the scan's results by nothing; the
// gradients of small weights come behind the last.
enum RecurrentKeeps : std::size_t {
  layer_input,
  projection,
  scan_result,
  gated_result,
  result_gradient,
  first_sum
};

/// RecurrentPlaces of the optional weights, behind the scan's own.
struct RecurrentPlaces {
  std::size_t own, gain, conv_bias, in_bias, out_bias, count;

  RecurrentPlaces(const RecurrentScan& scan, const RecurrentSizes& sizes) {
    own = scan.weights().size();
    gain = first_own_weight + own;
    conv_bias = gain + (sizes.normed > 0 ? 1 : 0);
    in_bias = conv_bias + (sizes.conv_bias ? 1 : 0);
    out_bias = in_bias + (sizes.in_bias ? 1 : 0);
    count = out_bias + (sizes.out_bias ? 1 : 0);
  }
};

/// One layer in a pass.
class LayerPass {
 public:
  LayerPass(const RecurrentScan& scan, const LayerRun& run)
      : scan_(scan), run_(run), sizes_(scan.sizes()), places_(scan, sizes_) {
    for (std::size_t i = 0; i < places_.own; ++i) {
      own_.push_back(matrix(run.weights[first_own_weight + i]).col(0));
    }
  }

  const RecurrentSizes& sizes() const { return sizes_; }
  const RecurrentPlaces& places() const { return places_; }

  /// The columns of an example.
  template <class All>
  auto of_example(All& all, std::size_t example) const {
    return matrix(all).middleCols(eigen_index(example * run_.cell.tokens),
                                  eigen_index(run_.cell.tokens));
  }

  /// The sums of each channel over the tokens that the convolution reaches.
  MatrixXd sums_of(const MatrixXd& in) const {
    const auto weights = matrix(run_.weights[convolve_by]);
    MatrixXd out = MatrixXd::Zero(in.rows(), in.cols());
    for (Index back = 0; back < std::min(weights.cols(), in.cols()); ++back) {
      const Index count = in.cols() - back;
      out.rightCols(count) +=
          (in.leftCols(count).array().colwise() * weights.col(back).array()).matrix();
    }
    if (sizes_.conv_bias) out.colwise() += matrix(run_.weights[places_.conv_bias]).col(0);
    return out;
  }

  ScanInput scan_input(const MatrixXd& projected, const MatrixXd& sums) const {
    return {sums.unaryExpr(&swish), projected.bottomRows(eigen_index(sizes_.steps))};
  }

  MatrixXd scanned(const MatrixXd& projected) const {
    const MatrixXd sums = sums_of(projected.topRows(eigen_index(sizes_.convolved)));
    return scan_.run(scan_input(projected, sums), own_.data());
  }

  /// The gradient of the projection but for the gate's rows; adds those of weights.
  void scan_gradient(const MatrixXd& projected, const MatrixXd& above, Eigen::Ref<MatrixXd> before,
                     Tensors& small, std::vector<VectorXd>& own_sums) const {
    const MatrixXd channels = projected.topRows(eigen_index(sizes_.convolved));
    const MatrixXd sums = sums_of(channels);
    const ScanInput of_input =
        scan_.gradient(scan_input(projected, sums), own_.data(), above, own_sums.data());
    const MatrixXd slope = of_input.convolved.cwiseProduct(sums.unaryExpr(&swish_slope));
    const auto weights = matrix(run_.weights[convolve_by]);
    for (Index back = 0; back < std::min(weights.cols(), slope.cols()); ++back) {
      const Index count = slope.cols() - back;
      before.topRows(channels.rows()).leftCols(count) +=
          (slope.rightCols(count).array().colwise() * weights.col(back).array()).matrix();
      matrix(small[convolve_by]).col(back) +=
          slope.rightCols(count).cwiseProduct(channels.leftCols(count)).rowwise().sum();
    }
    if (sizes_.conv_bias) matrix(small[places_.conv_bias]) += slope.rowwise().sum();
    before.bottomRows(of_input.steps.rows()) = of_input.steps;
  }

  MatrixXd gate_of(const Tensor& projected) const {
    return matrix(projected).middleRows(eigen_index(sizes_.convolved), eigen_index(sizes_.inner));
  }

  /// Columns of a norm, one below the other in a token.
  Tensor norm_apart(const MatrixXd& all) const {
    Tensor apart(sizes_.normed, static_cast<std::size_t>(all.size()) / sizes_.normed);
    matrix(apart) = all.reshaped(eigen_index(apart.rows), eigen_index(apart.columns));
    return apart;
  }
  MatrixXd together(const Tensor& apart, Index columns) const {
    return matrix(apart).reshaped(eigen_index(sizes_.inner), columns);
  }

  MatrixXd gated(const MatrixXd& scanned, const MatrixXd& gate) const {
    const MatrixXd open = gate.unaryExpr(&swish);
    if (sizes_.normed == 0) return scanned.cwiseProduct(open);
    Tensor normed = norm_apart(sizes_.gate_first ? scanned.cwiseProduct(open) : scanned);
    norm_columns(normed, false);
    matrix(normed).array().colwise() *= matrix(run_.weights[places_.gain]).col(0).array();
    const MatrixXd all = together(normed, scanned.cols());
    return sizes_.gate_first ? all : all.cwiseProduct(open);
  }

  /// From the gradient of `gated` those of its two arguments; adds that of the gain.
  std::pair<MatrixXd, MatrixXd> gated_gradient(const MatrixXd& scanned, const MatrixXd& gate,
                                               MatrixXd above, Tensors& small) const {
    const MatrixXd open = gate.unaryExpr(&swish), slope = gate.unaryExpr(&swish_slope);
    if (sizes_.normed == 0) return split(scanned, open, slope, above);
    Tensor normed = norm_apart(sizes_.gate_first ? scanned.cwiseProduct(open) : scanned);
    const Tensor scales = norm_columns(normed, false);
    const auto gains = matrix(run_.weights[places_.gain]).col(0).array();
    MatrixXd of_gate;
    if (!sizes_.gate_first) {
      Tensor own = normed;
      matrix(own).array().colwise() *= gains;
      of_gate = above.cwiseProduct(together(own, above.cols())).cwiseProduct(slope);
      above = above.cwiseProduct(open);
    }
    Tensor gradient = norm_apart(above);
    matrix(small[places_.gain]) += matrix(gradient).cwiseProduct(matrix(normed)).rowwise().sum();
    matrix(gradient).array().colwise() *= gains;
    norm_gradient(normed, scales, false, gradient);
    const MatrixXd before = together(gradient, above.cols());
    if (!sizes_.gate_first) return {before, of_gate};
    return split(scanned, open, slope, before);
  }

 private:
  /// The gradients of a product of the scan's result and the open gate.
  static std::pair<MatrixXd, MatrixXd> split(const MatrixXd& scanned, const MatrixXd& open,
                                             const MatrixXd& slope, const MatrixXd& above) {
    return {above.cwiseProduct(open), above.cwiseProduct(scanned).cwiseProduct(slope)};
  }

  const RecurrentScan& scan_;
  const LayerRun& run_;
  RecurrentSizes sizes_;
  RecurrentPlaces places_;
  std::vector<VectorXd> own_;
};

Tensors empty_weight_sums(const LayerRun& run) {
  Tensors sums;
  for (const Tensor& weight : run.weights) sums.emplace_back(weight.rows, weight.columns);
  sums[project_in] = sums[project_out] = {};
  return sums;
}

}  // namespace

std::vector<WeightSpec> recurrent_weights(const RecurrentScan& scan) {
  constexpr double usual = 0.1;
  const RecurrentSizes sizes = scan.sizes();
  std::vector<WeightSpec> specs{{sizes.projected(), sizes.hidden, spread_of_sum(sizes.hidden)},
                                {sizes.convolved, sizes.conv, spread_of_sum(sizes.conv)},
                                {sizes.hidden, sizes.inner, spread_of_sum(sizes.inner)}};
  for (const WeightSpec& own : scan.weights()) specs.push_back(own);
  if (sizes.normed > 0) specs.push_back({sizes.normed, 1, usual, 1});
  if (sizes.conv_bias) specs.push_back({sizes.convolved, 1, usual});
  if (sizes.in_bias) specs.push_back({sizes.projected(), 1, usual});
  if (sizes.out_bias) specs.push_back({sizes.hidden, 1, usual});
  return specs;
}

Tensor recurrent_forward(const RecurrentScan& scan, const LayerRun& run, Tensor in, Tensors& kept) {
  const LayerPass pass(scan, run);
  const RecurrentSizes& sizes = pass.sizes();
  kept.resize(first_sum);
  kept[projection] = dense(run.weights[project_in], in,
                           sizes.in_bias ? &run.weights[pass.places().in_bias] : nullptr);
  kept[scan_result] = Tensor(sizes.inner, in.columns);
  for (std::size_t example = 0; example < run.cell.examples; ++example) {
    pass.of_example(kept[scan_result], example) =
        pass.scanned(pass.of_example(kept[projection], example));
  }
  kept[gated_result] = Tensor(sizes.inner, in.columns);
  matrix(kept[gated_result]) =
      pass.gated(matrix(kept[scan_result]), pass.gate_of(kept[projection]));
  kept[layer_input] = std::move(in);
  return dense(run.weights[project_out], kept[gated_result],
               sizes.out_bias ? &run.weights[pass.places().out_bias] : nullptr);
}

Tensor recurrent_input_gradient(const RecurrentScan& scan, const LayerRun& run, Tensor gradient,
                                Tensors& kept) {
  const LayerPass pass(scan, run);
  const RecurrentSizes& sizes = pass.sizes();
  Tensors small = empty_weight_sums(run);
  std::vector<VectorXd> own(pass.places().own);
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i] = VectorXd::Zero(eigen_index(run.weights[first_own_weight + i].rows));
  }
  const auto [of_scan, of_gate] =
      pass.gated_gradient(matrix(kept[scan_result]), pass.gate_of(kept[projection]),
                          matrix(run.weights[project_out]).transpose() * matrix(gradient), small);
  Tensor before(sizes.projected(), gradient.columns);
  const auto tokens = eigen_index(run.cell.tokens);
  for (std::size_t example = 0; example < run.cell.examples; ++example) {
    pass.scan_gradient(pass.of_example(kept[projection], example),
                       of_scan.middleCols(eigen_index(example) * tokens, tokens),
                       pass.of_example(before, example), small, own);
  }
  matrix(before).middleRows(eigen_index(sizes.convolved), eigen_index(sizes.inner)) = of_gate;
  for (std::size_t i = 0; i < own.size(); ++i) matrix(small[first_own_weight + i]).col(0) = own[i];
  if (sizes.in_bias) matrix(small[pass.places().in_bias]) = matrix(before).rowwise().sum();
  if (sizes.out_bias) matrix(small[pass.places().out_bias]) = matrix(gradient).rowwise().sum();
  Tensor of_input = dense_back(run.weights[project_in], before);
  kept[projection] = std::move(before);
  kept[scan_result] = {};
  kept[result_gradient] = std::move(gradient);
  kept.insert(kept.end(), small.begin(), small.end());
  return of_input;
}

void recurrent_weight_gradient(const LayerRun&, const Tensors& kept, Tensors& sums) {
  add_dense_sums(kept[projection], kept[layer_input], sums[project_in]);
  add_dense_sums(kept[result_gradient], kept[gated_result], sums[project_out]);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (i != project_in && i != project_out) matrix(sums[i]) += matrix(kept[first_sum + i]);
  }
}

}  // namespace penstock
