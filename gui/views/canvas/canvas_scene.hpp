#pragma once

#include <QImage>
#include <QObject>
#include <QString>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "gui/models/drawing/lane_painter.hpp"
#include "gui/models/drawing/lane_rows.hpp"
#include "gui/models/drawing/shown_runs.hpp"
#include "gui/models/facts/facts.hpp"
#include "gui/models/lanes/run_lanes.hpp"
#include "gui/models/view/op_steps.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {

/// What a person has marked.
struct CanvasMarks {
  ShownOp selected, hovered;
  std::optional<Area> area;
  ShownOps bright;  // stay bright while the others are dimmed
  bool dims = false;
  ShownOps path;
  std::shared_ptr<const std::vector<float>> slack;  // by task; nullptr: not shown
  std::vector<std::int64_t> times;
  std::optional<double> cursor;  // where the pointer is, in pixels of the widget
};

/// The parts of a canvas around the lanes.
struct CanvasParts {
  static constexpr int gutter = 128;  // the names of lanes
  static constexpr int header = 50;   // the small map and the ruler
  static constexpr int map_height = 24;
  static constexpr int overview = 14;  // of all ranks, at the right
};

/// What is seen of runs on one axis, and where it stands on a widget. Painters read it; only the
/// canvas, which is one, changes it.
class CanvasScene : public CanvasParts {
 public:
  const QWidget& widget() const { return widget_; }
  const PaintedRunPtr& first() const { return first_; }
  const std::vector<PaintedRunPtr>& others() const { return others_; }
  std::size_t runs() const { return first_ == nullptr ? 0 : 1 + others_.size(); }
  /// By number: the first is 0.
  const PaintedRun& run(std::size_t number) const {
    return number == 0 ? *first_ : *others_[number - 1];
  }
  const PaintedRunPtr& shared_run(std::size_t number) const {
    return number == 0 ? first_ : others_[number - 1];
  }
  /// " of B" where there are several runs.
  QString of_run(std::uint8_t run) const;
  /// Of the longest run.
  std::int64_t span() const;
  const LaneChoice& choice() const { return choice_; }
  const Theme& colours() const { return theme(theme_); }
  /// Counts what is drawn: the same number has the same pictures.
  std::uint64_t generation() const { return generation_; }

  const ShownOp& selected() const { return marked_.selected; }
  const ShownOp& hovered() const { return marked_.hovered; }
  const std::optional<Area>& area() const { return marked_.area; }
  const ShownOps& bright() const { return marked_.bright; }
  const ShownOps& path() const { return marked_.path; }
  bool shows_slack() const { return marked_.slack != nullptr; }
  const std::vector<std::int64_t>& marks() const { return marked_.times; }
  const std::optional<double>& cursor() const { return marked_.cursor; }
  const CanvasMarks& marked() const { return marked_; }

  const CanvasView& view() const { return history_.now(); }
  /// With some time around a stretch; nothing is ahead of the runs or behind them.
  CanvasView fitted(std::int64_t begin, std::int64_t end) const;
  double lanes_width() const;
  /// That of a rank's ops in a view, in device pixels. Where no height is asked for, all ranks fit,
  /// until ops are so wide that labels are worth more.
  int lane_height(const CanvasView& seen) const;
  int lane_height() const { return lane_height(view()); }
  int readable_height() const;
  /// The mean way from one op of a rank to its next, in pixels.
  double pixels_per_op(const CanvasView& seen) const;
  bool has_wide_ops(const CanvasView& seen) const;
  /// What is shown in a view: low lanes are of heat where many ops share a pixel.
  LaneChoice choice_in(const CanvasView& seen) const;
  int room_for_lanes() const;  // in device pixels
  /// Whether the wheel scrolls; else it zooms.
  bool wheel_scrolls() const;
  double content_height() const;
  double clamped_top(double top) const;
  /// Where lanes begin, as they do now if a strip is in sight.
  double top_showing(const QRectF& strip, bool pinned) const;
  /// Where lanes begin in a view, so that the ranks of an area are in sight, or the first of them.
  double top_showing(const CanvasView& next, const Area& area) const;
  /// As high as lanes have to be for the ranks of an area; 0: all fit.
  double height_showing(const Area& area) const;
  const RankOrder& rank_order() const { return order_; }
  /// The strip of all ranks at the right; empty if all are in sight.
  QRectF overview_place() const;
  /// The rank that stands below or above another one.
  std::uint32_t rank_beside(std::uint32_t rank, bool below) const;
  /// The ranks that stand from one place to another.
  Area ranks_between(double top, double bottom) const;
  const std::vector<LaneRow>& rows() const;
  /// The room below the header in which pinned lanes stay; 0 if they would take most of it.
  double kept_height() const;
  /// Where lanes of its kind, those that stay or those that scroll, may be seen.
  QRectF room_of(bool pinned) const;
  double top_of(const LaneRow& row) const;
  QRectF place_of(const LaneRow& row) const;
  /// Where an op stands, in pixels of the widget; null without a strip for it.
  QRectF place_of_task(ShownOp op) const;
  /// The same of the ops of a rank, of its memory, or of the use of a link.
  QRectF place_of_lane(std::uint32_t rank, std::uint8_t run = 0) const {
    return strip_of(rank, LaneKind::compute, run);
  }
  QRectF place_of_memory(std::uint32_t rank, std::uint8_t run = 0) const {
    return strip_of(rank, LaneKind::memory, run);
  }
  QRectF place_of_link(std::uint32_t link) const { return strip_of(link, LaneKind::link); }
  bool is_pinned(std::uint32_t rank) const { return penstock::is_pinned(choice_, rank); }
  /// What is known of the rank of a strip; nullptr: it shows no rank.
  const RankSummary* facts_of(const LaneRow& row) const;

  /// The strip at a height, of those that can be seen there; the last one that begins above it if
  /// it lies between two.
  const LaneRow* row_at(double y) const;
  /// The strip under a point of the lanes.
  const LaneRow* strip_at(QPointF point) const;
  std::uint32_t rank_at(double y) const;
  /// The rank above the boundary that a point of the gutter is on.
  std::optional<std::uint32_t> boundary_at(QPointF point) const;
  /// The run whose ops a strip shows: differences stand over those of A.
  std::uint8_t run_of(const LaneRow& row) const;
  ShownOp task_at(QPointF point) const;
  /// The idle piece at a point, of those that are as wide as a pixel.
  std::optional<Area> idle_at(QPointF point) const;
  /// The step of memory at a point.
  std::optional<Area> memory_at(QPointF point) const;
  /// That of the area, if it is one.
  const HeldMemory* selected_memory() const {
    return marked_.area ? memory_of(*marked_.area, run(marked_.area->run)) : nullptr;
  }
  /// The same op in each other run that has it.
  std::vector<ShownOp> in_other_runs(const ShownOp& op) const;
  /// All that is needed to tell of the runs; without slack.
  SeenRuns seen() const;
  /// What is known of what lies under a point.
  Facts facts_at(QPointF point, const SeenRuns& seen) const;
  /// The same in one line.
  QString text_at(QPointF point) const {
    return QString::fromStdString(facts_at(point, seen()).in_one_line());
  }

 protected:
  explicit CanvasScene(const QWidget& widget) : widget_(widget) {}
  ~CanvasScene() = default;

  PaintedRunPtr first_;
  std::vector<PaintedRunPtr> others_;
  LaneChoice choice_;
  RankOrder order_;
  ThemeName theme_ = ThemeName::light;
  ViewHistory history_;
  CanvasMarks marked_;
  std::uint64_t generation_ = 0;

 private:
  QRectF strip_of(std::uint32_t rank, LaneKind kind, std::uint8_t run = 0) const;

  const QWidget& widget_;
  mutable std::vector<LaneRow> rows_;
  mutable LaneChoice rows_choice_;
  mutable std::uint64_t rows_generation_ = UINT64_MAX;
  mutable std::tuple<CanvasView, int, double> rows_key_{{}, -1, 0};
};

/// A picture of the lanes and what it shows.
struct CanvasFrame {
  std::vector<PaintedRunPtr> runs;  // A, B, …
  std::vector<LaneRow> rows;
  ShownOps bright;
  bool dims = false;
  std::shared_ptr<const std::vector<float>> slack;  // nullptr: not shown
  const Theme* theme = nullptr;
  std::shared_ptr<const Glyphs> glyphs;
  CanvasView view;
  double ratio = 1;
  int kept = 0;  // pixels of the image in which pinned lanes stay
  std::uint64_t generation = 0;
  LaneMarks* marks = nullptr;  // of a vector picture
  QImage image;
  double ms = 0;
};

/// What the names of ops of runs have beyond ASCII.
std::u32string letters_of(const std::vector<PaintedRunPtr>& runs);

/// The painter and its room; one thread at a time uses it.
struct CanvasDrawing {
  LanePainter painter;
  void draw(CanvasFrame& frame);
};

/// Pictures of the lanes of a scene: drawn at once if the last one was quick, else in a second
/// thread.
class CanvasFrames : public QObject {
 public:
  explicit CanvasFrames(const CanvasScene& scene);
  ~CanvasFrames() override;

  /// Sees to it that the last picture is, or soon will be, one of the scene as it is.
  void want();
  /// Waits for the second thread and draws the scene.
  void finish();
  /// The last picture; there is one once it was wanted.
  const CanvasFrame& last() const { return *frame_; }
  bool fits(const CanvasFrame& frame) const;

  std::function<void()> on_drawn;  // by the second thread

 private:
  QSize size_at(double ratio) const;  // of a picture
  std::vector<PaintedRunPtr> runs() const;
  std::shared_ptr<CanvasFrame> made() const;
  void start_worker();
  bool may_take_long() const;
  void take(std::shared_ptr<CanvasFrame> frame);

  const CanvasScene& scene_;
  std::shared_ptr<CanvasFrame> frame_;
  std::shared_ptr<CanvasDrawing> drawing_;
  bool at_work_ = false;
  std::uint64_t job_ = 0;
  double last_ms_ = 0;
  std::shared_ptr<const Glyphs> glyphs_;
  double glyphs_ratio_ = 0;
  std::u32string glyphs_letters_;
};

}  // namespace penstock
