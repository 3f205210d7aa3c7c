#include "validate/kernels/steps/feed_forward.hpp"

#include <cmath>
#include <numbers>

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

/// x times its sigmoid, and the derivative.
double swish(double x) { return x / (1 + std::exp(-x)); }
double swish_slope(double x) {
  const double share = 1 / (1 + std::exp(-x));
  return share * (1 + x * (1 - share));
}

}  // namespace

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

Tensor activation_gradient(bool gated, const Tensor& outputs, const Eigen::MatrixXd& gradient) {
  Tensor result(outputs.rows, outputs.columns);
  const auto all = matrix(outputs);
  auto own = matrix(result);
  if (!gated) {
    own = all.unaryExpr(&gelu_slope).cwiseProduct(gradient);
    return result;
  }
  const auto gate = all.topRows(gradient.rows());
  const auto other = all.bottomRows(gradient.rows());
  own.topRows(gradient.rows()) =
      gate.unaryExpr(&swish_slope).cwiseProduct(other).cwiseProduct(gradient);
  own.bottomRows(gradient.rows()) = gate.unaryExpr(&swish).cwiseProduct(gradient);
  return result;
}

}  // namespace penstock
