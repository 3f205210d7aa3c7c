#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/canvas.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The vertical layout of lanes: every `stride`-th rank is shown, `pitch` apart.
struct LaneSpacing {
  double pitch;
  std::uint32_t stride;
};

/// Lays out lanes in a height of `room`; 0 is unlimited. Few ranks get generous lanes. Lanes are at
/// least one unit high; if they do not fit, only every k-th rank is shown. Pitches of a unit or
/// more are multiples of one half, so that all lanes look alike.
LaneSpacing lane_spacing(std::uint32_t ranks, double room);

/// The time axis to the right of the rank names, from picoseconds. `right_room` stays free on the
/// right.
Scale lane_time(Page& page, std::uint32_t ranks, Time end, double right_room = 0);

/// One lane per rank from top to bottom, with names on the left and a time axis below.
class LaneFrame {
 public:
  /// Lays out lanes from `top` to the foot of the page. A page without a height gets the height of
  /// its lanes. Throws UsageError for a page that is too low.
  LaneFrame(Page& page, std::uint32_t ranks, Time end, double top, double right_room = 0);

  /// The ranks shown, ascending.
  const std::vector<std::size_t>& ranks() const { return ranks_; }
  const Scale& time() const { return time_; }  // from picoseconds
  std::uint32_t stride() const { return spacing_.stride; }
  double lane_top(std::size_t shown) const;  // of the n-th shown rank
  double lane_height() const { return lane_height_; }
  /// Whether lanes are too low to show fractions as heights.
  bool is_low() const;
  /// Whether lanes are too low for hatching, outlines and gaps, which would form patterns.
  bool is_dense() const;

  void draw_names() const;
  /// The interval of shown ranks with a name.
  std::uint32_t name_step() const;
  /// Also states which ranks are left out.
  void draw_axis() const;

 private:
  Page& page_;
  Time end_;
  LaneSpacing spacing_;
  std::vector<std::size_t> ranks_;
  double top_;
  double lane_height_;
  Scale time_;
};

/// A span of the critical path on one rank.
struct PathBox {
  std::uint32_t rank;
  Time begin;
  Time end;
  friend bool operator==(const PathBox&, const PathBox&) = default;
};

/// The actions of a critical path, first to last, without transfers and zero-length actions.
/// Actions shorter than `shortest` merge with their neighbours on the same rank. Throws InputError
/// for the path of another plan.
std::vector<PathBox> path_boxes(const Plan& plan, const Timeline& timeline,
                                const std::vector<TaskId>& path, Time shortest);

/// A critical path as drawn: outlines around boxes that are large enough, and lines through the
/// others and between boxes.
struct PathStrokes {
  std::vector<Rectangle> outlines;
  std::vector<std::vector<Point>> lines;
};

/// The strokes of a path through `boxes`, from left to right. Lines through narrow boxes drop
/// invisible points, so the number of points depends only on the width of the picture.
PathStrokes path_strokes(const std::vector<Rectangle>& boxes);

}  // namespace penstock
