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
#include "gui/views/canvas/canvas_tip.hpp"

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
  void leave() {
    if (!stays_) pointer_ = {-1, -1};
  }
  /// A menu opened here: the pointer counts as being here until it moves over the canvas again.
  void stay_at(QPointF point) {
    pointer_ = point;
    stays_ = true;
  }
  /// Where the pointer was last; outside of the canvas if it left.
  QPointF pointer() const { return pointer_; }
  /// The time under the pointer, at the edge of an op that is near; nothing where it is elsewhere.
  std::optional<std::int64_t> time_at_pointer() const;
  bool dragged() const { return dragged_; }
  /// Where a dragged op would stand, or a boundary.
  void paint_drag(QPainter& painter);

 private:
  enum class Drag { none, area, pan, map, overview, op, boundary };

  void start_drag(const QMouseEvent& event);
  bool drag_to(const QMouseEvent& event);
  bool carry(QPointF to, bool released);
  void set_cursor(QPointF point);
  std::int64_t edge_near(double x, const Area& ranks) const;
  bool is_movable(const ShownOp& op) const;
  void drag_area(QPointF to, bool snap);
  void move_map(double x);
  void move_overview(double y);

  TimelineCanvas& canvas_;
  QPointF pointer_{-1, -1};
  bool stays_ = false;
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
  /// held against the second. `kept`: the marked ops in the new runs, where they are known.
  void show_runs(PaintedRunPtr first, std::vector<PaintedRunPtr> others, bool keep_view,
                 const KeptOps* kept = nullptr);
  /// That under the pointer; else that of the selected op; else the first in sight.
  std::uint8_t run_in_hand() const;

  ViewHistory& history() { return history_; }
  void move_to(const CanvasView& view, ViewMove kind);
  void fit();
  void fit_stretch(std::int64_t begin, std::int64_t end);
  /// Fits time and ranks of an area; with some time around it, lanes are only as high as it takes
  /// to read them.
  void fit_area(const Area& area, std::int64_t around = 0);
  /// Scrolls to the ranks of an area, or to a link.
  void show_lane(const Area& area);
  void show_link(std::uint32_t link);
  /// Scrolls lanes and time until an op is in sight; shows its run if it was left out.
  void reveal(const ShownOp& op);
  /// The same for a step of memory.
  void reveal(const Area& step);
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

  // An op or an area is selected, never both.
  void select(ShownOp op, bool reveal);
  void set_area(std::optional<Area> area);
  /// What is at a point: an op, else a gap as an area, else nothing.
  void select_at(QPointF point);
  /// Shows where the pointer is and what lies under it; less while it drags.
  void point_at(QPointF point, bool drags);
  std::optional<std::int64_t> time_at_pointer() const { return hands_.time_at_pointer(); }
  /// Shows nothing of the pointer any more.
  void forget_pointer();
  /// All that is known of what is selected; of an area, nothing that has to be counted.
  Facts facts_of_selection();
  /// The gap that the area is, if it is one.
  std::optional<IdlePiece> selected_gap() const;
  const CanvasTip& tip() const { return tip_; }
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

  std::function<void()> on_selection;  // op, area, marks, or more is known of them
  std::function<void()> on_view;       // what is seen
  std::function<void(const QString&)> on_hover;
  std::function<void(QPoint)> on_menu;  // asked for, at a place of the screen

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
  void hideEvent(QHideEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void keep_ops(const KeptOps* kept);
  void invalidate();
  void show_run(std::uint8_t run);
  void reveal(const QRectF& place, bool pinned);
  void show_rank(std::uint32_t rank);
  void order_ranks();
  void move_keeping(double y, const CanvasView& next);
  void announce();
  void hover(const ShownOp& op);
  void hide_tip();
  void move_cursor(std::optional<double> x);
  QPointF place_in_hand() const;
  SeenRuns seen_with_slack();

  CanvasFrames frames_{*this};
  CanvasChrome chrome_{*this};
  CanvasHands hands_{*this};
  CanvasTip tip_{this};
  SlackFinder slack_;
};

/// Lets screen readers see each canvas as lanes, and each lane as the ops in sight. To be called
/// once, before a canvas is shown.
void install_canvas_access();

}  // namespace penstock
