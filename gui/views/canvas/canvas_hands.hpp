#pragma once

#include <QMouseEvent>
#include <QPointF>
#include <cstdint>

#include "gui/views/canvas/canvas_scene.hpp"

namespace penstock {

class TimelineCanvas;

/// The mouse on a canvas: what it drags, and what follows.
class CanvasHands {
 public:
  explicit CanvasHands(TimelineCanvas& canvas) : canvas_(canvas) {}

  void press(const QMouseEvent& event);
  void move(const QMouseEvent& event);
  void release(const QMouseEvent& event);
  void click_twice(const QMouseEvent& event);
  void leave() { pointer_ = {-1, -1}; }
  /// Where the pointer was last; outside of the canvas if it left.
  QPointF pointer() const { return pointer_; }
  bool dragged() const { return dragged_; }
  /// Where a dragged op would stand, or a boundary.
  void paint_drag(QPainter& painter);

 private:
  enum class Drag { none, area, pan, map, op, boundary };

  void start_drag(const QMouseEvent& event);
  bool drag_to(const QMouseEvent& event);
  void point_at(QPointF point);
  bool is_movable(const ShownOp& op) const;
  void drag_area(QPointF to, bool snap);
  void move_map(double x);

  TimelineCanvas& canvas_;
  QPointF pointer_{-1, -1};
  Drag drag_ = Drag::none;
  QPointF drag_from_;
  CanvasView drag_view_;
  bool dragged_ = false;
  std::uint32_t boundary_ = 0;  // the rank above the one that is dragged
};

}  // namespace penstock
