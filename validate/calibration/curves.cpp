#include "validate/calibration/curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sim/base/random.hpp"
#include "validate/calibration/nonnegative.hpp"

namespace penstock {
namespace {

/// Adjacent falling values, averaged.
struct Level {
  double sum = 0;
  std::size_t count = 0;
  double mean() const { return sum / static_cast<double>(count); }
};

/// The non-decreasing values with the least squared distance: pool adjacent violators.
std::vector<double> never_falling(const std::vector<double>& values) {
  std::vector<Level> levels;
  for (const double value : values) {
    levels.push_back({value, 1});
    while (levels.size() > 1 && levels.end()[-2].mean() > levels.back().mean()) {
      levels.end()[-2].sum += levels.back().sum;
      levels.end()[-2].count += levels.back().count;
      levels.pop_back();
    }
  }
  std::vector<double> risen;
  for (const Level& level : levels) risen.insert(risen.end(), level.count, level.mean());
  return risen;
}

/// The slope at a point between two intervals: their harmonic mean, weighted by length.
double inner_slope(double width_before, double width_after, double before, double after) {
  if (before * after <= 0) return 0;
  const double one = 2 * width_after + width_before;
  const double other = width_after + 2 * width_before;
  return (one + other) / (one / before + other / after);
}

/// The slope at an end, from its interval and the next; keeps the curve monotone.
double end_slope(double width, double next_width, double rise, double next_rise) {
  const double slope = ((2 * width + next_width) * rise - width * next_rise) / (width + next_width);
  return std::clamp(slope, 0.0, 3 * rise);
}

std::vector<double> slopes_of(const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t stretches = x.size() - 1;
  if (stretches == 0) return {0};
  std::vector<double> widths, rises;
  for (std::size_t i = 0; i < stretches; ++i) {
    widths.push_back(x[i + 1] - x[i]);
    rises.push_back((y[i + 1] - y[i]) / widths.back());
  }
  if (stretches == 1) return {rises[0], rises[0]};
  std::vector<double> slopes{end_slope(widths[0], widths[1], rises[0], rises[1])};
  for (std::size_t i = 1; i < stretches; ++i) {
    slopes.push_back(inner_slope(widths[i - 1], widths[i], rises[i - 1], rises[i]));
  }
  const std::size_t last = stretches - 1;
  slopes.push_back(end_slope(widths[last], widths[last - 1], rises[last], rises[last - 1]));
  return slopes;
}

/// Ascending in size; equal sizes are averaged.
std::vector<CurvePoint> in_order(std::vector<CurvePoint> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.size < b.size; });
  std::vector<CurvePoint> merged;
  std::size_t same = 0;
  for (const CurvePoint& point : points) {
    if (merged.empty() || merged.back().size != point.size) {
      merged.push_back(point);
      same = 1;
      continue;
    }
    ++same;
    merged.back().value += (point.value - merged.back().value) / static_cast<double>(same);
  }
  return merged;
}

constexpr std::size_t least_points = 3;  // of a piece
constexpr double downward_jump = 10;     // weight of a downward jump

/// A piece and its squared errors.
struct FittedPiece {
  LinkPiece piece;
  double squares = 0;
};

double time_of(const LinkPiece& piece, double bytes) {
  return piece.latency_ns + piece.ns_per_byte * bytes;
}

FittedPiece fitted(std::span<const CurvePoint> points, double from_bytes) {
  std::vector<Equation> equations;
  for (const CurvePoint& point : points) {
    equations.push_back({{1 / point.value, point.size / point.value}, 1});
  }
  const std::vector<double> constants = solve_nonnegative(equations);
  FittedPiece result{{from_bytes, constants[0], constants[1]}};
  for (const CurvePoint& point : points) {
    const double miss = time_of(result.piece, point.size) / point.value - 1;
    result.squares += miss * miss;
  }
  return result;
}

/// The penalty of a jump between two pieces.
double jump_squares(const LinkPiece& before, const LinkPiece& after) {
  const double low = time_of(before, after.from_bytes);
  const double high = time_of(after, after.from_bytes);
  if (low <= 0) return 0;
  const double jump = high / low - 1;
  return jump * jump * (jump < 0 ? downward_jump : 1);
}

/// All splits of some points into pieces.
class PieceSearch {
 public:
  explicit PieceSearch(std::vector<CurvePoint> points) : points_(std::move(points)) {}

  LinkPieces run() {
    const std::size_t count = points_.size();
    consider({0});
    for (std::size_t first = least_points; first + least_points <= count; ++first) {
      consider({0, first});
      for (std::size_t second = first + least_points; second + least_points <= count; ++second) {
        consider({0, first, second});
      }
    }
    return best_;
  }

 private:
  const FittedPiece& piece(std::size_t begin, std::size_t end) {
    const auto [place, is_new] = fitted_.try_emplace({begin, end});
    if (is_new) {
      // Half-way in size: the exact place between two points is unknown.
      const double from = begin == 0 ? 0 : std::sqrt(points_[begin - 1].size * points_[begin].size);
      place->second = fitted(std::span(points_).subspan(begin, end - begin), from);
    }
    return place->second;
  }

  void consider(const std::vector<std::size_t>& begins) {
    LinkPieces pieces;
    double squares = 0;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : points_.size();
      const FittedPiece& next = piece(begins[i], end);
      squares += next.squares + (pieces.empty() ? 0 : jump_squares(pieces.back(), next.piece));
      pieces.push_back(next.piece);
    }
    const auto points = static_cast<double>(points_.size());
    const double constants = 3 * static_cast<double>(pieces.size()) - 1;  // breaks included
    // Below 0.001 % all fits are equally good.
    const double spread = std::max(squares / points, 1e-10);
    const double cost = points * std::log(spread) + constants * std::log(points);
    if (cost >= least_cost_) return;
    least_cost_ = cost;
    best_ = std::move(pieces);
  }

  std::vector<CurvePoint> points_;
  std::map<std::pair<std::size_t, std::size_t>, FittedPiece> fitted_;
  LinkPieces best_;
  double least_cost_ = std::numeric_limits<double>::infinity();
};

}  // namespace

MonotoneCurve::MonotoneCurve(std::vector<CurvePoint> points)
    : points_(in_order(std::move(points))) {
  std::vector<double> logarithms;
  for (const CurvePoint& point : points_) {
    x_.push_back(portable_log(point.size));
    logarithms.push_back(portable_log(point.value));
  }
  y_ = never_falling(logarithms);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (y_[i] != logarithms[i]) points_[i].value = portable_exp(y_[i]);
  }
  slopes_ = slopes_of(x_, y_);
}

double MonotoneCurve::operator()(double size) const {
  const std::size_t last = points_.size() - 1;
  if (size <= points_.front().size) return beyond(size, 0, std::min<std::size_t>(1, last));
  if (size >= points_[last].size) return beyond(size, last, last - std::min<std::size_t>(1, last));
  const double at = portable_log(size);
  const auto above =
      static_cast<std::size_t>(std::upper_bound(x_.begin(), x_.end() - 1, at) - x_.begin());
  const std::size_t i = std::max<std::size_t>(above, 1) - 1;
  const double width = x_[i + 1] - x_[i];
  const double t = (at - x_[i]) / width;
  const double value = y_[i] * (1 + 2 * t) * (1 - t) * (1 - t) +
                       slopes_[i] * width * t * (1 - t) * (1 - t) +
                       y_[i + 1] * t * t * (3 - 2 * t) + slopes_[i + 1] * width * t * t * (t - 1);
  // Rounding could leave the interval.
  return std::clamp(portable_exp(value), points_[i].value, points_[i + 1].value);
}

/// On the line through an end point and its neighbour; the latency is at least zero.
double MonotoneCurve::beyond(double size, std::size_t end, std::size_t next) const {
  const auto [end_size, end_value] = points_[end];
  const double apart = points_[next].size - end_size;
  const double in_proportion = end_value / end_size;
  const double rise = apart == 0 ? in_proportion : (points_[next].value - end_value) / apart;
  return end_value + std::min(rise, size < end_size ? in_proportion : rise) * (size - end_size);
}

double at(const LinkPieces& pieces, double bytes) {
  auto piece = pieces.begin();
  while (piece + 1 != pieces.end() && (piece + 1)->from_bytes <= bytes) ++piece;
  return time_of(*piece, bytes);
}

LinkPieces fit_link_pieces(std::span<const CurvePoint> points) {
  std::vector<CurvePoint> sorted(points.begin(), points.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.size < b.size; });
  return PieceSearch(std::move(sorted)).run();
}

}  // namespace penstock
