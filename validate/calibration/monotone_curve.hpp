#pragma once

#include <cstddef>
#include <vector>

namespace penstock {

/// What something of a size takes.
struct CurvePoint {
  double size = 0;   // above 0
  double value = 0;  // above 0
  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

/// A curve through points that never falls: a cubic in logarithms between them, with the slopes of
/// F. N. Fritsch and J. Butland (SIAM J. Sci. Stat. Comput. 5, 1984; known as PCHIP), so that it
/// stays between neighbouring points. Points that fall are first brought to the mean of their
/// logarithms. Beyond the points it goes on straight: a latency and a bandwidth, as the two points
/// at that end have them.
class MonotoneCurve {
 public:
  /// Points in any order; those of one size are averaged. There must be one.
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
