#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/time_sum.hpp"

namespace penstock {

/// The linear map between times in picoseconds and positions in pixels. Differences of times are
/// taken in integers, so that positions are exact however long the run is; times are those of the
/// clock.
struct TimeAxis {
  std::int64_t origin = 0;  // the time at position 0
  double picoseconds_per_pixel = 1;

  double x_of(std::int64_t time) const {
    return static_cast<double>(WideInteger{time} - origin) / picoseconds_per_pixel;
  }
  std::int64_t time_at(double x) const;
  friend bool operator==(const TimeAxis&, const TimeAxis&) = default;
};

/// The axis on which a stretch of time has this width.
TimeAxis axis_for(std::int64_t begin, std::int64_t end, double width);
/// Zoomed so that `x` keeps its time; a factor below 1 shows less time. Never less than one
/// picosecond per pixel, nor more than four times `span` on `width`.
TimeAxis zoomed(const TimeAxis& axis, double x, double factor, std::int64_t span, double width);
/// Moved to the right by pixels, as far as some part of the run stays in sight.
TimeAxis panned(const TimeAxis& axis, double pixels, std::int64_t span, double width);

/// A tick of a ruler, and its text in a unit that fits.
struct RulerTick {
  double x;
  std::string text;
};
/// Round times at least `apart` pixels from each other.
std::vector<RulerTick> ruler_ticks(const TimeAxis& axis, double width, double apart);

/// A time with a unit and four significant digits: "1.25 ms".
std::string short_time(WideInteger picoseconds);

/// The same of a difference, with its sign: "+1.25 ms"; "±0" where there is none.
std::string signed_time(WideInteger picoseconds);
/// A time in full: "1099.123456789 s". Of a step, such as that of a pixel, only the digits that
/// tell two of its moments apart.
std::string exact_time(WideInteger picoseconds, double step = 1);

/// What part of a run is seen.
struct CanvasView {
  TimeAxis axis;
  double top = 0;          // the first row of pixels that is seen
  double lane_height = 0;  // of a rank's ops; 0: all ranks fit
  friend bool operator==(const CanvasView&, const CanvasView&) = default;
};

/// The kinds of moves; several of one kind in a row are one step back.
enum class ViewMove { zoom, pan, scroll, jump };

/// The views seen so far, to go back and forward in.
class ViewHistory {
 public:
  explicit ViewHistory(CanvasView first = {}) : views_{first} {}

  const CanvasView& now() const { return views_[at_]; }
  /// Moves on; what was undone is forgotten. A jump is always a step of its own.
  void move(const CanvasView& view, ViewMove kind);
  bool can_go_back() const { return at_ > 0; }
  bool can_go_forward() const { return at_ + 1 < views_.size(); }
  void back();
  void forward();
  /// Changes all views alike, as for another width of the canvas.
  void change_all(const std::function<void(CanvasView&)>& change) {
    for (CanvasView& view : views_) change(view);
  }

 private:
  static constexpr std::size_t most_views = 200;
  std::vector<CanvasView> views_;
  std::size_t at_ = 0;
  ViewMove last_ = ViewMove::jump;
};

}  // namespace penstock
