#include "validate/calibration/fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/random.hpp"

namespace penstock {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::uint32_t most_steps = 60;
// Simulated times are piecewise linear and rounded, so finite differences need large steps.
constexpr double feeler = 0.02;
constexpr double small_gain = 1e-4;  // relative decrease of the sum of squares that ends the search

/// Searches over the logarithms of the constants: doubling and halving are equal steps.
class Search {
 public:
  Search(const std::vector<FitRange>& ranges, const Misfits& misfits)
      : ranges_(ranges), misfits_(misfits), place_(static_cast<Eigen::Index>(ranges.size())) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      place_[static_cast<Eigen::Index>(i)] = portable_log(ranges[i].start);
    }
    misfit_ = at({place_}).front();
  }

  Fit run() {
    std::uint32_t steps = 0;
    while (misfit_.size() > 0 && place_.size() > 0 && steps < most_steps) {
      ++steps;
      if (!step()) break;
    }
    const double rows = std::max<double>(1, static_cast<double>(misfit_.size()));
    return {constants(place_), std::sqrt(misfit_.squaredNorm() / rows), steps};
  }

 private:
  Constants constants(const VectorXd& place) const {
    Constants values;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const double value = portable_exp(place[static_cast<Eigen::Index>(i)]);
      values.push_back(std::clamp(value, ranges_[i].least, ranges_[i].most));
    }
    return values;
  }

  std::vector<VectorXd> at(const std::vector<VectorXd>& places) const {
    std::vector<Constants> choices;
    for (const VectorXd& place : places) choices.push_back(constants(place));
    std::vector<VectorXd> all;
    for (const std::vector<double>& rows : misfits_(choices)) {
      all.push_back(VectorXd::Map(rows.data(), static_cast<Eigen::Index>(rows.size())));
    }
    return all;
  }

  /// Slopes hold only nearby: no constant moves further than `longest` in one step.
  static VectorXd shortened(const VectorXd& move) {
    constexpr double longest = 1.5;
    return move.cwiseMax(-longest).cwiseMin(longest);
  }

  VectorXd bounded(VectorXd place) const {
    for (Eigen::Index i = 0; i < place.size(); ++i) {
      const FitRange& range = ranges_[static_cast<std::size_t>(i)];
      place[i] = std::clamp(place[i], portable_log(range.least), portable_log(range.most));
    }
    return place;
  }

  /// Forward differences; backward differences near an upper bound.
  MatrixXd slopes() const {
    std::vector<VectorXd> places;
    VectorXd felt(place_.size());
    for (Eigen::Index i = 0; i < place_.size(); ++i) {
      const bool room =
          place_[i] + feeler <= portable_log(ranges_[static_cast<std::size_t>(i)].most);
      felt[i] = room ? feeler : -feeler;
      places.push_back(place_);
      places.back()[i] += felt[i];
    }
    const std::vector<VectorXd> moved = at(places);
    MatrixXd slopes(misfit_.size(), place_.size());
    for (Eigen::Index i = 0; i < place_.size(); ++i) {
      slopes.col(i) = (moved[static_cast<std::size_t>(i)] - misfit_) / felt[i];
    }
    return slopes;
  }

  /// Weight of each row; less for outliers.
  VectorXd weights() const {
    VectorXd sizes = misfit_.cwiseAbs();
    VectorXd sorted = sizes;
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
    const double far = 1.345 * 1.4826 * sorted[sorted.size() / 2];
    if (far <= 0) return VectorXd::Ones(sizes.size());
    return sizes.unaryExpr([&](double size) { return size <= far ? 1 : far / size; });
  }

  /// One step downhill; false once nothing is left to gain. Tries several damping strengths at
  /// once: one prediction takes about as long as several in parallel.
  bool step() {
    const MatrixXd slope = slopes();
    const VectorXd weight = weights();
    const MatrixXd square = slope.transpose() * weight.asDiagonal() * slope;
    const VectorXd down = -slope.transpose() * weight.asDiagonal() * misfit_;
    constexpr std::array dampings{1e-6, 1e-3, 1e-1, 1.0, 10.0, 100.0};
    std::vector<VectorXd> tried;
    for (const double damping : dampings) {
      MatrixXd damped = square;
      damped.diagonal() += damping * square.diagonal() +
                           VectorXd::Constant(square.rows(), 1e-12 * (1 + square.trace()));
      tried.push_back(bounded(place_ + shortened(damped.ldlt().solve(down))));
    }
    return take_best(tried, weight);
  }

  bool take_best(const std::vector<VectorXd>& tried, const VectorXd& weight) {
    const auto cost = [&](const VectorXd& misfit) {
      return misfit.cwiseAbs2().cwiseProduct(weight).sum();
    };
    const double before = cost(misfit_);
    double best = before;
    const std::vector<VectorXd> found = at(tried);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!(cost(found[i]) < best)) continue;
      best = cost(found[i]);
      place_ = tried[i];
      misfit_ = found[i];
    }
    return best < before * (1 - small_gain);
  }

  const std::vector<FitRange>& ranges_;
  const Misfits& misfits_;
  VectorXd place_;  // the logarithms
  VectorXd misfit_;
};

}  // namespace

Fit fit(const std::vector<FitRange>& ranges, const Misfits& misfits) {
  return Search(ranges, misfits).run();
}

}  // namespace penstock
