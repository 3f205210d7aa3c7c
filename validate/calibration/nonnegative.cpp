#include "validate/calibration/nonnegative.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace penstock {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The columns, each divided by its length.
struct ScaledColumns {
  MatrixXd matrix;
  VectorXd lengths;  // 1 where a column is zero
};

ScaledColumns scaled_columns(std::span<const Equation> equations) {
  const auto rows = static_cast<Index>(equations.size());
  const auto columns = rows == 0 ? 0 : static_cast<Index>(equations.front().factors.size());
  ScaledColumns scaled{MatrixXd(rows, columns), {}};
  for (Index r = 0; r < rows; ++r) {
    scaled.matrix.row(r) =
        Eigen::RowVectorXd::Map(equations[static_cast<std::size_t>(r)].factors.data(), columns);
  }
  scaled.lengths = scaled.matrix.colwise().norm().transpose();
  scaled.lengths = (scaled.lengths.array() > 0).select(scaled.lengths, 1);
  scaled.matrix.array().rowwise() /= scaled.lengths.transpose().array();
  return scaled;
}

/// Finds which unknowns are above zero; the others stay at zero.
class ActiveSet {
 public:
  ActiveSet(const MatrixXd& columns, const VectorXd& wanted)
      : columns_(columns), wanted_(wanted), values_(VectorXd::Zero(columns.cols())) {}

  VectorXd run() {
    // Each round frees one unknown. In exact arithmetic no set occurs twice, so the method ends;
    // the bound guards against rounding.
    for (Index round = 0; round < 3 * columns_.cols(); ++round) {
      const auto next = most_wanted();
      if (!next) break;
      free_.push_back(*next);
      settle();
    }
    return values_;
  }

 private:
  /// The unknown at zero with the largest gain from rising, if any.
  std::optional<Index> most_wanted() const {
    const VectorXd gain = columns_.transpose() * (wanted_ - columns_ * values_);
    const double nothing = 1e-13 * wanted_.norm();
    std::optional<Index> best;
    for (Index i = 0; i < gain.size(); ++i) {
      if (is_free(i) || gain[i] <= nothing) continue;
      if (!best || gain[i] > gain[*best]) best = i;
    }
    return best;
  }

  bool is_free(Index i) const { return std::find(free_.begin(), free_.end(), i) != free_.end(); }

  /// Solves for the free unknowns; those that would fall below zero are fixed at zero.
  void settle() {
    while (!free_.empty()) {
      const VectorXd best = best_of_free();
      if (best.minCoeff() > 0) {
        values_.setZero();
        values_(free_) = best;
        return;
      }
      step_towards(best);
    }
    values_.setZero();
  }

  VectorXd best_of_free() const {
    return columns_(Eigen::all, free_).colPivHouseholderQr().solve(wanted_);
  }

  /// Goes as far as all free unknowns stay at or above zero; those at zero are no longer free.
  void step_towards(const VectorXd& best) {
    const VectorXd now = values_(free_);
    double way = 1;
    for (Index i = 0; i < best.size(); ++i) {
      if (best[i] <= 0) way = std::min(way, now[i] / (now[i] - best[i]));
    }
    const VectorXd moved = now + std::clamp(way, 0.0, 1.0) * (best - now);
    values_(free_) = moved;
    std::vector<Index> still;
    for (Index i = 0; i < best.size(); ++i) {
      const bool falls = best[i] <= 0 && moved[i] <= 1e-15 * (1 + now[i]);
      if (!falls) still.push_back(free_[static_cast<std::size_t>(i)]);
      if (falls) values_[free_[static_cast<std::size_t>(i)]] = 0;
    }
    free_ = still;
  }

  const MatrixXd& columns_;
  const VectorXd& wanted_;
  VectorXd values_;
  std::vector<Index> free_;
};

/// A NaN is neither above zero nor below, and would stay free forever.
void check_finite(std::span<const Equation> equations) {
  for (const Equation& equation : equations) {
    const bool finite = std::isfinite(equation.wanted) &&
                        std::all_of(equation.factors.begin(), equation.factors.end(),
                                    [](double factor) { return std::isfinite(factor); });
    if (!finite) throw std::domain_error("least squares over what is no finite number");
  }
}

}  // namespace

std::vector<double> solve_nonnegative(std::span<const Equation> equations) {
  check_finite(equations);
  if (equations.empty()) return {};
  const ScaledColumns scaled = scaled_columns(equations);
  VectorXd wanted(static_cast<Index>(equations.size()));
  for (std::size_t r = 0; r < equations.size(); ++r) {
    wanted[static_cast<Index>(r)] = equations[r].wanted;
  }
  const VectorXd values = ActiveSet(scaled.matrix, wanted).run().cwiseQuotient(scaled.lengths);
  return {values.data(), values.data() + values.size()};
}

double condition(std::span<const Equation> equations) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const ScaledColumns scaled = scaled_columns(equations);
  if (scaled.matrix.cols() == 0) return 1;
  if (scaled.matrix.rows() < scaled.matrix.cols()) return infinite;
  const VectorXd singular = scaled.matrix.jacobiSvd().singularValues();
  const double least = singular[singular.size() - 1];
  return least > 1e-15 * singular[0] ? singular[0] / least : infinite;
}

}  // namespace penstock
