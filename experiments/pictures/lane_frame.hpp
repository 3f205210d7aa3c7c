#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/pictures/axis.hpp"
#include "experiments/pictures/picture.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// How lanes of ranks share the height of a picture: every `stride`-th rank is shown, `pitch`
/// apart.
struct LaneSpacing {
  double pitch;
  std::uint32_t stride;
};

/// Lanes for a height of `room`, without limit where it is 0: generous for few ranks, and at least
/// one unit high; where that is too much, only every k-th rank is shown. Pitches of a unit or more
/// are whole halves, so that all lanes look alike.
LaneSpacing lane_spacing(std::uint32_t ranks, double room);

/// The axis of time right of the names of ranks, from picoseconds; `right_room` stays free at its
/// right.
Scale lane_time(Page& page, std::uint32_t ranks, Time end, double right_room = 0);

/// A lane for each rank from top to bottom, names at their left, an axis of time below.
class LaneFrame {
 public:
  /// Lays out lanes from `top` down to the foot of the page; a page without a height gets the one
  /// that its lanes take. Throws UsageError for a page that is too low.
  LaneFrame(Page& page, std::uint32_t ranks, Time end, double top, double right_room = 0);

  /// The ranks shown, ascending.
  const std::vector<std::size_t>& ranks() const { return ranks_; }
  const Scale& time() const { return time_; }  // from picoseconds
  std::uint32_t stride() const { return spacing_.stride; }
  double lane_top(std::size_t shown) const;  // of the n-th rank that is shown
  double lane_height() const { return lane_height_; }
  /// Whether lanes are too low to show shares as heights.
  bool is_low() const;
  /// Whether lanes are too low for hatches, outlines and gaps between them: those would be a
  /// pattern of their own.
  bool is_dense() const;

  void draw_names() const;
  /// Every how many of the shown ranks have a name.
  std::uint32_t name_step() const;
  /// The axis also says which ranks are left out.
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

}  // namespace penstock
