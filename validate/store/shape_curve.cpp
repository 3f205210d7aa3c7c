#include "validate/store/shape_curve.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>

namespace penstock {
namespace {

constexpr double least_spread = 0.01;
constexpr Eigen::Index least_freedom = 6;   // points beyond the constants of the curve
constexpr double decides_alone = 1 - 1e-9;  // leverage of a point that determines the curve by
                                            // itself

/// The sizes that all points have, all above zero.
std::vector<std::string> shared_sizes(std::span<const ShapeTime> times) {
  std::vector<std::string> names;
  for (const auto& size : times.front().shape) {
    const bool shared = std::all_of(times.begin(), times.end(), [&](const ShapeTime& time) {
      const auto found = time.shape.find(size.first);
      return found != time.shape.end() && found->second > 0;
    });
    if (shared) names.push_back(size.first);
  }
  return names;
}

Eigen::MatrixXd logs_of_sizes(std::span<const ShapeTime> times) {
  const std::vector<std::string> names = shared_sizes(times);
  Eigen::MatrixXd design(static_cast<Eigen::Index>(times.size()),
                         static_cast<Eigen::Index>(names.size()) + 1);
  for (Eigen::Index i = 0; i < design.rows(); ++i) {
    design(i, 0) = 1;
    for (Eigen::Index c = 1; c < design.cols(); ++c) {
      const auto size =
          times[static_cast<std::size_t>(i)].shape.find(names[static_cast<std::size_t>(c - 1)]);
      design(i, c) = std::log(size->second);
    }
  }
  return design;
}

}  // namespace

std::vector<double> curve_residuals(std::span<const ShapeTime> times) {
  std::vector<double> residuals(times.size(), 0);
  const bool positive =
      std::all_of(times.begin(), times.end(), [](const ShapeTime& time) { return time.ns > 0; });
  if (times.empty() || !positive) return residuals;
  const Eigen::MatrixXd design = logs_of_sizes(times);
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(design);
  const Eigen::Index freedom = design.rows() - qr.rank();
  if (freedom < least_freedom) return residuals;
  Eigen::VectorXd logs(design.rows());
  for (Eigen::Index i = 0; i < logs.size(); ++i) {
    logs(i) = std::log(times[static_cast<std::size_t>(i)].ns);
  }
  const Eigen::MatrixXd basis =
      qr.householderQ() * Eigen::MatrixXd::Identity(design.rows(), qr.rank());
  const Eigen::VectorXd misfit = logs - basis * (basis.transpose() * logs);
  const double squares = misfit.squaredNorm();
  for (Eigen::Index i = 0; i < logs.size(); ++i) {
    const double leverage = basis.row(i).squaredNorm();
    if (leverage > decides_alone) continue;
    const double of_others = squares - misfit(i) * misfit(i) / (1 - leverage);
    const double spread = std::sqrt(std::max(0.0, of_others) / static_cast<double>(freedom - 1));
    residuals[static_cast<std::size_t>(i)] =
        std::abs(misfit(i)) / (std::max(spread, least_spread) * std::sqrt(1 - leverage));
  }
  return residuals;
}

}  // namespace penstock
