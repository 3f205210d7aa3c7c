#include "gui/views/canvas/canvas.hpp"

#include <QAccessible>
#include <QThreadPool>
#include <algorithm>
#include <cmath>

#include "gui/models/run/same_ops.hpp"
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
  keep_ops(keeps ? &first->run->plan : nullptr);
  first_ = std::move(first);
  others_ = std::move(others);
  choice_.ranks = static_cast<std::uint32_t>(first_->lanes->ranks.size());
  for (const PaintedRunPtr& other : others_) {
    choice_.ranks = std::max(choice_.ranks, static_cast<std::uint32_t>(other->lanes->ranks.size()));
  }
  choice_.runs = static_cast<std::uint8_t>(1 + others_.size());
  choice_.link_count = static_cast<std::uint32_t>(first_->run->plan.links.size());
  path_.clear();
  slack_.reset();
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

/// Finds what is selected and bright in the plan of the next run; nothing is without one.
void TimelineCanvas::keep_ops(const Plan* next) {
  hovered_ = no_task;
  if (next == nullptr) {
    selected_ = no_task;
    bright_.clear();
  } else {
    const Plan& now = first_->run->plan;
    if (selected_ != no_task) {
      const std::vector<TaskId> same = same_ops(now, {selected_}, *next);
      selected_ = same.empty() ? no_task : same.front();
    }
    bright_ = same_ops(now, bright_, *next);
  }
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

void TimelineCanvas::select(TaskId task, bool reveal) {
  if (first_ == nullptr) return;
  selected_ = task;
  if (task != no_task) {
    const ViewedRun& run = *first_->run;
    setAccessibleDescription(qt_text(op_text(run.plan, run.timeline, task)));
    QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&changed);
    const QRectF place = place_of_task(task);
    const bool seen = place.right() > gutter && place.left() < width() &&
                      place.top() >= room_of(is_pinned(task)).top() - 1 &&
                      place.bottom() <= height() + 1;
    if (reveal && !seen) {
      CanvasView next = view();
      const double x = next.axis.x_of(run.timeline.begin[task].picoseconds);
      if (place.right() <= gutter || place.left() >= width()) {
        next.axis.origin = next.axis.time_at(x - lanes_width() / 2);
      }
      if (!is_pinned(task) || kept_height() == 0) {
        const double middle = (header + kept_height() + height()) / 2.0;
        next.top = clamped_top(next.top + place.center().y() - middle);
      }
      move_to(next, ViewMove::pan);
    }
  }
  update();
  if (on_selection) on_selection();
}

void TimelineCanvas::set_area(std::optional<Area> area) {
  area_ = area;
  update();
  if (on_selection) on_selection();
}

void TimelineCanvas::set_bright(std::vector<TaskId> tasks, bool dims) {
  bright_ = std::move(tasks);
  dims_ = dims;
  invalidate();
}

void TimelineCanvas::set_path(std::vector<TaskId> path) {
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
