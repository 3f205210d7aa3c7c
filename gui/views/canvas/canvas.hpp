#pragma once

#include <QImage>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gui/models/drawing/lane_painter.hpp"
#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/lanes/run_lanes.hpp"
#include "gui/models/view/op_steps.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {

struct CanvasFrame;
struct CanvasDrawing;

/// The timeline of a run, and of others on its axis. Drawn in a second thread once that takes
/// longer than a frame; until then the last picture stands in, moved and scaled.
class TimelineCanvas : public QWidget {
 public:
  explicit TimelineCanvas(QWidget* parent = nullptr);
  ~TimelineCanvas() override;

  /// Shows a run and maybe others on its axis, fewer than `most_runs`. The first is A, unless it is
  /// held against the second.
  void show_runs(PaintedRunPtr first, std::vector<PaintedRunPtr> others, bool keep_view);
  const PaintedRunPtr& first() const { return first_; }
  const std::vector<PaintedRunPtr>& others() const { return others_; }
  std::size_t runs() const { return first_ == nullptr ? 0 : 1 + others_.size(); }
  /// By number: the first is 0.
  const PaintedRun& run(std::size_t number) const {
    return number == 0 ? *first_ : *others_[number - 1];
  }
  /// " of B" where there are several runs.
  QString of_run(std::uint8_t run) const;
  /// That under the pointer; else that of the selected op; else the first in sight.
  std::uint8_t run_in_hand() const;

  const CanvasView& view() const { return history_.now(); }
  ViewHistory& history() { return history_; }
  void move_to(const CanvasView& view, ViewMove kind);
  void fit();
  void fit_stretch(std::int64_t begin, std::int64_t end);
  /// Fits the time of an area, with as much around it, and scrolls to its ranks.
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

  const LaneChoice& choice() const { return choice_; }
  void set_choice(LaneChoice choice);
  /// Without transfers, if all ranks would not fit with them.
  void leave_out_what_does_not_fit();
  void set_theme(ThemeName name);

  const ShownOp& selected() const { return selected_; }
  void select(ShownOp op, bool reveal);
  const std::optional<Area>& area() const { return area_; }
  void set_area(std::optional<Area> area);
  /// Ops that stay bright while the others are dimmed; none: all are.
  void set_bright(ShownOps ops, bool dims);
  const ShownOps& bright() const { return bright_; }
  void set_path(ShownOps path);
  const ShownOps& path() const { return path_; }
  /// By task: ops with much slack are pale; nullptr: none are.
  void set_slack(std::shared_ptr<const std::vector<float>> slack);
  bool shows_slack() const { return slack_ != nullptr; }
  void set_marks(std::vector<std::int64_t> marks);
  const std::vector<std::int64_t>& marks() const { return marks_; }

  /// Where an op stands, in pixels of the widget; null without a strip for it.
  QRectF place_of_task(ShownOp op) const;
  /// The same of the ops of a rank, of its memory, or of the use of a link.
  QRectF place_of_lane(std::uint32_t rank, std::uint8_t run = 0) const {
    return strip_of(rank, LaneKind::compute, run);
  }
  QRectF place_of_memory(std::uint32_t rank) const { return strip_of(rank, LaneKind::memory); }
  QRectF place_of_link(std::uint32_t link) const { return strip_of(link, LaneKind::link); }
  ShownOp task_at(QPointF point) const;
  /// What lies under a point, for a person.
  QString text_at(QPointF point) const;
  /// Waits for the second thread and draws what it has.
  void finish();
  const PaintCounts& counts() const { return counts_; }
  double lanes_width() const;
  std::uint32_t rank_at(double y) const;

  std::function<void()> on_selection;  // op, area, marks
  std::function<void()> on_view;       // what is seen
  std::function<void(const QString&)> on_hover;

  // A selected op that is dragged along its lane, to a moment; and the boundary below a rank, by a
  // number of layers. The last call of a drag is `released`.
  std::function<void()> on_grab;
  std::function<void(std::int64_t, bool released)> on_carry;
  std::function<void(std::uint32_t rank, int layers, bool released)> on_boundary;
  static constexpr double pixels_per_layer = 14;
  /// The rank above the boundary that a point of the gutter is on.
  std::optional<std::uint32_t> boundary_at(QPointF point) const;

  static constexpr int gutter = 96;
  static constexpr int header = 54;  // the small map and the ruler
  static constexpr int map_height = 28;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// Pictures of what stands around the lanes, and what they show.
  struct Chrome {
    CanvasView view;
    QSize size;
    double ratio = 0;
    std::uint64_t generation = 0;
    std::pair<std::uint32_t, std::uint8_t> lane;  // rank and run of the selected op
    QFont font;
    QImage header, gutter;
    bool fits(const Chrome& wanted) const {
      return view == wanted.view && size == wanted.size && ratio == wanted.ratio &&
             generation == wanted.generation && lane == wanted.lane && font == wanted.font;
    }
  };
  enum class Drag { none, area, pan, map, op, boundary };

  std::shared_ptr<CanvasFrame> new_frame() const;
  bool fits_now(const CanvasFrame& frame) const;
  void want_frame();
  void start_worker();
  void take_frame(std::shared_ptr<CanvasFrame> frame);
  ShownOps kept(const ShownOps& ops, const std::vector<const Plan*>& next) const;
  void keep_ops(const std::vector<const Plan*>& next);
  void invalidate();
  int lane_height() const;
  double clamped_top(double top) const;
  /// Of the longest run.
  std::int64_t span() const;
  double content_height() const;
  const std::vector<LaneRow>& rows() const;
  QRectF place_of(const LaneRow& row) const;
  QRectF strip_of(std::uint32_t rank, LaneKind kind, std::uint8_t run = 0) const;
  CanvasView fitted(std::int64_t begin, std::int64_t end) const;
  double top_showing(const QRectF& strip, bool pinned) const;
  void show_run(std::uint8_t run);
  /// The room below the header in which pinned lanes stay; 0 if they would take most of it.
  double kept_height() const;
  /// Where lanes of its kind, those that stay or those that scroll, may be seen.
  QRectF room_of(bool pinned) const;
  double top_of(const LaneRow& row) const;
  const LaneRow* row_at(double y) const;
  std::uint8_t run_of(const LaneRow& row) const;
  bool is_pinned(std::uint32_t rank) const;
  QString text_of_link(const LaneRow& row, std::int64_t time) const;
  QString text_of_memory(const LaneRow& row, std::int64_t time) const;
  QString text_of_rank(std::uint32_t rank, std::uint8_t of, std::int64_t time, bool on_op) const;

  void paint_empty(QPainter& painter);
  void paint_frame(QPainter& painter);
  void paint_chrome(QPainter& painter);
  void draw_chrome();
  std::pair<std::uint32_t, std::uint8_t> selected_lane() const;
  void paint_marks(QPainter& painter);
  void paint_header(QPainter& painter);
  void draw_map();
  void paint_map(QPainter& painter);
  void paint_gutter(QPainter& painter);
  double paint_name(QPainter& painter, const LaneRow& row, QColor ink, double free_from) const;
  QString name_of(const LaneRow& row) const;
  void paint_overlay(QPainter& painter);
  void paint_area(QPainter& painter);
  void paint_path(QPainter& painter);
  void paint_arrows(QPainter& painter, const ShownOp& op);
  void for_each_arrow(const ShownOp& op,
                      const std::function<void(const QPointF&, const QPointF&)>& visit) const;
  /// What is painted for an op under the pointer.
  QRect reach_of(const ShownOp& op) const;
  void paint_drag(QPainter& painter);
  void start_drag(const QMouseEvent& event);
  bool drag_to(const QMouseEvent& event);
  void point_at(QPointF point);
  bool is_movable(const ShownOp& op) const;
  void drag_area(QPointF to, bool snap);
  void move_map(double x);

  PaintedRunPtr first_;
  std::vector<PaintedRunPtr> others_;
  LaneChoice choice_;
  ThemeName theme_ = ThemeName::light;
  ViewHistory history_;
  ShownOp selected_, hovered_;
  std::optional<Area> area_;
  ShownOps bright_;
  bool dims_ = false;
  ShownOps path_;
  std::shared_ptr<const std::vector<float>> slack_;
  std::vector<std::int64_t> marks_;
  QPointF pointer_{-1, -1};

  Drag drag_ = Drag::none;
  QPointF drag_from_;
  CanvasView drag_view_;
  bool dragged_ = false;
  std::uint32_t boundary_ = 0;  // the rank above the one that is dragged

  std::uint64_t generation_ = 0;  // of what is drawn
  std::shared_ptr<CanvasFrame> frame_;
  std::shared_ptr<CanvasDrawing> drawing_;
  bool at_work_ = false;
  std::uint64_t job_ = 0;
  double last_ms_ = 0;
  PaintCounts counts_;
  std::shared_ptr<const Glyphs> glyphs_;
  double glyphs_ratio_ = 0;
  mutable std::vector<LaneRow> rows_;
  mutable LaneChoice rows_choice_;
  mutable int rows_height_ = -1;
  Chrome chrome_;
  QImage map_;
  std::uint64_t map_generation_ = UINT64_MAX;
};

}  // namespace penstock
