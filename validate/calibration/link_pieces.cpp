#include "validate/calibration/link_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "validate/calibration/nonnegative.hpp"

namespace penstock {
namespace {

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
