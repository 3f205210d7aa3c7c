#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace penstock {

/// The time at some size.
struct CurvePoint {
  double size = 0;   // above 0
  double value = 0;  // above 0
  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

/// A non-decreasing curve through points: cubic in logarithms, with the slopes of F. N. Fritsch and
/// J. Butland (SIAM J. Sci. Stat. Comput. 5, 1984; known as PCHIP), so it stays between
/// neighbouring points. Falling points are first averaged in logarithms. Beyond the points it is a
/// straight line: the latency and bandwidth of the two points at that end.
class MonotoneCurve {
 public:
  /// Points in any order; equal sizes are averaged. Needs at least one point.
  explicit MonotoneCurve(std::vector<CurvePoint> points);

  double operator()(double size) const;

 private:
  double beyond(double size, std::size_t end, std::size_t next) const;

  std::vector<CurvePoint> points_;  // ascending
  std::vector<double> x_;           // their logarithms
  std::vector<double> y_;
  std::vector<double> slopes_;
};

/// The time of a message from some size on: a latency, and a time per byte.
struct LinkPiece {
  double from_bytes = 0;
  double latency_ns = 0;
  double ns_per_byte = 0;
  friend bool operator==(const LinkPiece&, const LinkPiece&) = default;
};

/// One, two or three pieces, ascending; the first begins at 0.
using LinkPieces = std::vector<LinkPiece>;

/// The time of a message of this many bytes.
double at(const LinkPieces& pieces, double bytes);

/// Finds where protocols or caches change. Tries every pair of breaks between points, with at least
/// three points per piece. Each piece has a latency and a time per byte, both at least zero, with
/// the least relative squared errors. Jumps between pieces count as errors, downward ones ten times
/// as much. A further piece must be worth its constants (the criterion of G. Schwarz, Ann. Statist.
/// 6, 1978). Needs at least one point.
LinkPieces fit_link_pieces(std::span<const CurvePoint> points);

}  // namespace penstock
