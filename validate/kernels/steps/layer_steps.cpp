#include "validate/kernels/steps/layer_steps.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "validate/kernels/steps/layer_run.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

/// GELU, x times the normal distribution function, and its derivative.
double share_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double gelu(double x) { return x * share_below(x); }
double gelu_slope(double x) {
  constexpr double density_at_zero = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return share_below(x) + x * density_at_zero * std::exp(-0.5 * x * x);
}

}  // namespace

Tensor dense(const Tensor& weights, const Tensor& columns, const Tensor* bias) {
  Tensor result(weights.rows, columns.columns);
  matrix(result).noalias() = matrix(weights) * matrix(columns);
  if (bias != nullptr) matrix(result).colwise() += matrix(*bias).col(0);
  return result;
}

Tensor dense_back(const Tensor& weights, const Tensor& columns) {
  Tensor result(weights.columns, columns.columns);
  matrix(result).noalias() = matrix(weights).transpose() * matrix(columns);
  return result;
}

void add_dense_sums(const Tensor& gradient, const Tensor& columns, Tensor& weight_sums,
                    Tensor* bias_sums) {
  matrix(weight_sums).noalias() += matrix(gradient) * matrix(columns).transpose();
  if (bias_sums != nullptr) matrix(*bias_sums) += matrix(gradient).rowwise().sum();
}

std::vector<Eigen::Index> highest(const Eigen::Ref<const Eigen::VectorXd>& scores,
                                  std::size_t most) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(scores.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](Eigen::Index a, Eigen::Index b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

double swish(double x) { return x / (1 + std::exp(-x)); }

double swish_slope(double x) {
  const double share = 1 / (1 + std::exp(-x));
  return share * (1 + x * (1 - share));
}

Tensor norm_columns(Tensor& columns, bool centred) {
  Tensor scales(1, columns.columns);
  auto all = matrix(columns);
  for (Eigen::Index c = 0; c < all.cols(); ++c) {
    auto column = all.col(c).array();
    if (centred) column -= column.mean();
    const double scale = 1 / std::sqrt(column.square().mean() + norm_epsilon);
    column *= scale;
    scales.values[static_cast<std::size_t>(c)] = scale;
  }
  return scales;
}

void norm_gradient(const Tensor& normed, const Tensor& scales, bool centred, Tensor& gradient) {
  const auto all = matrix(normed);
  auto gradients = matrix(gradient);
  for (Eigen::Index c = 0; c < all.cols(); ++c) {
    const auto column = all.col(c).array();
    auto own = gradients.col(c).array();
    const double along = (own * column).mean();
    const double mean = centred ? own.mean() : 0;
    own = scales.values[static_cast<std::size_t>(c)] * (own - mean - along * column);
  }
}

Tensor activated(bool gated, const Tensor& outputs) {
  Tensor result(outputs.rows / (gated ? 2 : 1), outputs.columns);
  const auto all = matrix(outputs);
  auto own = matrix(result);
  if (gated) {
    own = all.topRows(own.rows()).unaryExpr(&swish).cwiseProduct(all.bottomRows(own.rows()));
  } else {
    own = all.unaryExpr(&gelu);
  }
  return result;
}

Tensor activation_gradient(bool gated, const Tensor& outputs, const Tensor& gradient) {
  Tensor result(outputs.rows, outputs.columns);
  const auto all = matrix(outputs);
  const auto above = matrix(gradient);
  auto own = matrix(result);
  if (!gated) {
    own = all.unaryExpr(&gelu_slope).cwiseProduct(above);
    return result;
  }
  const auto gate = all.topRows(above.rows());
  const auto other = all.bottomRows(above.rows());
  own.topRows(above.rows()) = gate.unaryExpr(&swish_slope).cwiseProduct(other).cwiseProduct(above);
  own.bottomRows(above.rows()) = gate.unaryExpr(&swish).cwiseProduct(above);
  return result;
}

double cross_entropy(Tensor& logits, const std::vector<std::size_t>& labels) {
  double loss = 0;
  auto all = matrix(logits);
  for (Eigen::Index c = 0; c < all.cols(); ++c) {
    auto column = all.col(c).array();
    const auto label = static_cast<Eigen::Index>(labels[static_cast<std::size_t>(c)]);
    column -= column.maxCoeff();
    const double right = column(label);
    column = column.exp();
    const double sum = column.sum();
    column /= sum;
    loss += std::log(sum) - right;
  }
  return loss;
}

void cross_entropy_gradient(Tensor& probabilities, const std::vector<std::size_t>& labels,
                            double share) {
  auto all = matrix(probabilities);
  for (Eigen::Index c = 0; c < all.cols(); ++c) {
    all(static_cast<Eigen::Index>(labels[static_cast<std::size_t>(c)]), c) -= 1;
  }
  all *= share;
}

}  // namespace penstock
