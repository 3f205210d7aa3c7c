#include "gui/views/canvas/canvas.hpp"

#include <QAccessible>
#include <QThreadPool>
#include <algorithm>
#include <cmath>

#include "gui/models/run/run_pair.hpp"
#include "gui/views/canvas/canvas_drawing.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {

TimelineCanvas::TimelineCanvas(QWidget* parent)
    : QWidget(parent), drawing_(std::make_shared<CanvasDrawing>()) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(320, 160);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName("Timeline");
  setAccessibleDescription("No run is open");
}

TimelineCanvas::~TimelineCanvas() {
  if (at_work_) QThreadPool::globalInstance()->waitForDone();
}

void TimelineCanvas::show_runs(PaintedRunPtr first, std::vector<PaintedRunPtr> others,
                               bool keep_view) {
  const bool keeps = keep_view && first_ != nullptr;
  std::vector<const Plan*> plans;
  if (keeps) {
    plans.push_back(&first->run->plan);
    for (const PaintedRunPtr& other : others) plans.push_back(&other->run->plan);
  }
  keep_ops(plans);
  first_ = std::move(first);
  others_ = std::move(others);
  choice_.ranks = static_cast<std::uint32_t>(first_->lanes->ranks.size());
  for (const PaintedRunPtr& other : others_) {
    choice_.ranks = std::max(choice_.ranks, static_cast<std::uint32_t>(other->lanes->ranks.size()));
  }
  choice_.runs = static_cast<std::uint8_t>(runs());
  choice_.frozen = runs() > 1 && !first_->differences.empty();
  choice_.link_count = static_cast<std::uint32_t>(first_->run->plan.links.size());
  path_ = {};
  slack_.reset();
  if (area_ && area_->run >= runs()) area_.reset();
  setAccessibleDescription(qt_text(first_->run->title));
  invalidate();
  if (!keeps) {
    area_.reset();
    marks_.clear();
    history_ = ViewHistory({axis_for(0, first_->lanes->span, lanes_width()), 0, 0});
  }
  view_changed();
  if (on_selection) on_selection();
}

/// The same ops in the plans of the next runs: in that of their number, else in the first; none
/// without plans.
ShownOps TimelineCanvas::kept(const ShownOps& ops, const std::vector<const Plan*>& next) const {
  if (next.empty() || ops.empty()) return {};
  const std::uint8_t there = ops.run < next.size() ? ops.run : 0;
  return {same_ops(run(ops.run).run->plan, ops.tasks, *next[there]), there};
}

void TimelineCanvas::keep_ops(const std::vector<const Plan*>& next) {
  hovered_ = {};
  if (!selected_.is_none()) {
    const ShownOps same = kept({{selected_.task}, selected_.run}, next);
    selected_ = same.empty() ? ShownOp() : ShownOp(same.tasks.front(), same.run);
  }
  bright_ = kept(bright_, next);
  dims_ = dims_ && !bright_.empty();
}

void TimelineCanvas::invalidate() {
  ++generation_;
  update();
}

double TimelineCanvas::lanes_width() const { return std::max(1, width() - gutter); }

int TimelineCanvas::lane_height() const {
  const double ratio = devicePixelRatioF();
  const double given = view().lane_height;
  if (given > 0) return static_cast<int>(std::lround(given * ratio));
  const int room = static_cast<int>((height() - header - 4) * ratio);
  return std::max(static_cast<int>(9 * ratio), fitting_lane_height(choice_, room));
}

const std::vector<LaneRow>& TimelineCanvas::rows() const {
  const int wanted = lane_height();
  if (rows_height_ != wanted || !(rows_choice_ == choice_)) {
    rows_ = lane_rows(choice_, wanted);
    rows_height_ = wanted;
    rows_choice_ = choice_;
  }
  return rows_;
}

double TimelineCanvas::content_height() const { return height_of(rows()) / devicePixelRatioF(); }

double TimelineCanvas::kept_height() const {
  const double pinned = pinned_height(rows()) / devicePixelRatioF();
  return 3 * pinned <= 2 * (height() - header) ? pinned : 0;
}

double TimelineCanvas::clamped_top(double top) const {
  return std::clamp(top, 0.0, std::max(0.0, content_height() - (height() - header) + 8));
}

void TimelineCanvas::set_choice(LaneChoice choice) {
  choice.ranks = choice_.ranks;
  choice.runs = choice_.runs;
  choice.link_count = choice_.link_count;
  choice.frozen = choice_.frozen;
  choice_ = choice;
  invalidate();
}

void TimelineCanvas::leave_out_what_does_not_fit() {
  if (content_height() <= height() - header) return;
  choice_.transfers = false;
  invalidate();
}

void TimelineCanvas::set_theme(ThemeName name) {
  theme_ = name;
  invalidate();
}

void TimelineCanvas::select(ShownOp op, bool reveals) {
  if (first_ == nullptr) return;
  selected_ = op;
  if (!op.is_none()) {
    const ViewedRun& of = *run(op.run).run;
    setAccessibleDescription(
        qt_text(op_text(of.plan, of.timeline, op.task, of_run(op.run).toStdString())));
    QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&changed);
    if (reveals) reveal(op);
  }
  update();
  if (on_selection) on_selection();
}

void TimelineCanvas::set_area(std::optional<Area> area) {
  area_ = area;
  update();
  if (on_selection) on_selection();
}

void TimelineCanvas::set_bright(ShownOps ops, bool dims) {
  bright_ = std::move(ops);
  dims_ = dims;
  invalidate();
}

void TimelineCanvas::set_path(ShownOps path) {
  path_ = std::move(path);
  update();
}

void TimelineCanvas::set_slack(std::shared_ptr<const std::vector<float>> slack) {
  slack_ = std::move(slack);
  invalidate();
}

void TimelineCanvas::set_marks(std::vector<std::int64_t> marks) {
  marks_ = std::move(marks);
  update();
}

}  // namespace penstock
