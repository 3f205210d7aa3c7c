#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "gui/models/view/time_axis.hpp"

namespace penstock {

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
