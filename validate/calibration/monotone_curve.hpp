#pragma once

#include <cstddef>
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

}  // namespace penstock
