#pragma once

#include <QMouseEvent>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gui/views/canvas/canvas_paint.hpp"
#include "gui/views/canvas/canvas_scene.hpp"

namespace penstock {

class TimelineCanvas;

/// The mouse on a canvas: what it drags, and what follows.
class CanvasHands : CanvasParts {
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
  enum class Drag { none, area, pan, map, overview, op, boundary };

  void start_drag(const QMouseEvent& event);
  bool drag_to(const QMouseEvent& event);
  bool carry(QPointF to, bool released);
  void point_at(QPointF point);
  bool is_movable(const ShownOp& op) const;
  void drag_area(QPointF to, bool snap);
  void move_map(double x);
  void move_overview(double y);

  TimelineCanvas& canvas_;
  QPointF pointer_{-1, -1};
  Drag drag_ = Drag::none;
  QPointF drag_from_;
  CanvasView drag_view_;
  bool dragged_ = false;
  std::uint32_t boundary_ = 0;  // the rank above the one that is dragged
};

/// The timeline of a run, and of others on its axis: a scene that can be changed, and its painters
/// and hands.
class TimelineCanvas : public QWidget, public CanvasScene {
 public:
  explicit TimelineCanvas(QWidget* parent = nullptr);

  /// Shows a run and maybe others on its axis, fewer than `most_runs`. The first is A, unless it is
  /// held against the second.
  void show_runs(PaintedRunPtr first, std::vector<PaintedRunPtr> others, bool keep_view);
  /// That under the pointer; else that of the selected op; else the first in sight.
  std::uint8_t run_in_hand() const;

  ViewHistory& history() { return history_; }
  void move_to(const CanvasView& view, ViewMove kind);
  void fit();
  void fit_stretch(std::int64_t begin, std::int64_t end);
  /// Fits time and ranks of an area; with some time around it, lanes are only as high as it takes
  /// to read them.
  void fit_area(const Area& area, std::int64_t around = 0);
  /// Scrolls lanes and time until an op is in sight; shows its run if it was left out.
  void reveal(const ShownOp& op);
  void zoom(double factor);
  void zoom_at(double x, double factor);
  void pan(double share_of_width);
  void scroll(double pixels);
  void scale_lanes(double factor);
  /// After a step of the history.
  void view_changed();

  void set_choice(LaneChoice choice);
  template <class Change>
  void change_choice(Change change) {
    LaneChoice choice = choice_;
    change(choice);
    set_choice(std::move(choice));
  }
  /// Orders and filters the ranks; false, and nothing changes, if none would be left.
  bool set_rank_order(const RankOrder& order);
  void toggle_pin(std::uint32_t rank);
  /// Without transfers, if lanes would be too low for them.
  void leave_out_what_does_not_fit();
  void set_theme(ThemeName name);

  void select(ShownOp op, bool reveal);
  /// The op under the pointer.
  void hover(const ShownOp& op);
  void set_area(std::optional<Area> area);
  /// Ops that stay bright while the others are dimmed; none: all are.
  void set_bright(ShownOps ops, bool dims);
  void set_path(ShownOps path);
  /// By task: ops with much slack are pale; nullptr: none are.
  void set_slack(std::shared_ptr<const std::vector<float>> slack);
  void set_marks(std::vector<std::int64_t> marks);

  /// Waits for the second thread and draws what it has.
  void finish() {
    if (first_ != nullptr) frames_.finish();
  }

  std::function<void()> on_selection;  // op, area, marks
  std::function<void()> on_view;       // what is seen
  std::function<void(const QString&)> on_hover;

  // A selected op that is dragged along its lane, to a moment; and the boundary below a rank, by a
  // number of layers. The last call of a drag is `released`.
  std::function<void()> on_grab;
  std::function<void(std::int64_t, bool released)> on_carry;
  std::function<void(std::uint32_t rank, int layers, bool released)> on_boundary;
  static constexpr double pixels_per_layer = 14;
  std::function<void()> on_corner;  // a press on the number of ranks

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override { hands_.press(*event); }
  void mouseMoveEvent(QMouseEvent* event) override { hands_.move(*event); }
  void mouseReleaseEvent(QMouseEvent* event) override { hands_.release(*event); }
  void mouseDoubleClickEvent(QMouseEvent* event) override { hands_.click_twice(*event); }
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  ShownOps kept(const ShownOps& ops, const std::vector<const Plan*>& next) const;
  void keep_ops(const std::vector<const Plan*>& next);
  void invalidate();
  void show_run(std::uint8_t run);
  void show_rank(std::uint32_t rank);
  void order_ranks();
  void move_keeping(double y, const CanvasView& next);

  CanvasFrames frames_{*this};
  CanvasChrome chrome_{*this};
  CanvasHands hands_{*this};
};

/// Lets screen readers see each canvas as lanes, and each lane as the ops in sight. To be called
/// once, before a canvas is shown.
void install_canvas_access();

}  // namespace penstock
