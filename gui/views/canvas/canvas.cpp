#include "gui/views/canvas/canvas.hpp"

#include <QAccessible>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QPointer>
#include <QThreadPool>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/views/canvas/canvas_drawing.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr double frame_ms = 7;  // beyond this, a second thread draws
constexpr double click_reach = 4;
constexpr double snap_reach = 9;

}  // namespace

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

void TimelineCanvas::show_runs(PaintedRunPtr first, PaintedRunPtr second, bool keep_view) {
  const bool keeps = keep_view && first_ != nullptr;
  const bool same_tasks = keeps && first_->run->plan.tasks() == first->run->plan.tasks();
  first_ = std::move(first);
  second_ = std::move(second);
  choice_.ranks = static_cast<std::uint32_t>(first_->lanes->ranks.size());
  if (second_) {
    choice_.ranks =
        std::max(choice_.ranks, static_cast<std::uint32_t>(second_->lanes->ranks.size()));
  }
  choice_.two_runs = second_ != nullptr;
  if (!same_tasks) {
    selected_ = hovered_ = no_task;
    bright_.clear();
    dims_ = false;
  }
  path_.clear();
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

double TimelineCanvas::clamped_top(double top) const {
  return std::clamp(top, 0.0, std::max(0.0, content_height() - (height() - header) + 8));
}

void TimelineCanvas::move_to(const CanvasView& view, ViewMove kind) {
  if (first_ == nullptr) return;
  history_.move(view, kind);
  view_changed();
}

void TimelineCanvas::view_changed() {
  update();
  if (on_view) on_view();
}

void TimelineCanvas::fit() {
  if (first_ == nullptr) return;
  std::int64_t span = first_->lanes->span;
  if (second_) span = std::max(span, second_->lanes->span);
  move_to({axis_for(0, span, lanes_width()), 0, 0}, ViewMove::jump);
}

void TimelineCanvas::fit_stretch(std::int64_t begin, std::int64_t end) {
  const std::int64_t margin = (end - begin) / 20 + 1;
  CanvasView next = view();
  next.axis = axis_for(begin - margin, end + margin, lanes_width());
  next.axis.picoseconds_per_pixel = std::max(1.0, next.axis.picoseconds_per_pixel);
  move_to(next, ViewMove::jump);
}

void TimelineCanvas::zoom(double factor) {
  const bool inside = rect().contains(pointer_.toPoint()) && pointer_.x() > gutter;
  zoom_at(inside ? pointer_.x() - gutter : lanes_width() / 2, factor);
}

void TimelineCanvas::zoom_at(double x, double factor) {
  if (first_ == nullptr) return;
  CanvasView next = view();
  next.axis = zoomed(next.axis, x, factor, first_->lanes->span, lanes_width());
  move_to(next, ViewMove::zoom);
}

void TimelineCanvas::pan(double share_of_width) {
  if (first_ == nullptr) return;
  CanvasView next = view();
  next.axis = panned(next.axis, share_of_width * lanes_width(), first_->lanes->span, lanes_width());
  move_to(next, ViewMove::pan);
}

void TimelineCanvas::scroll(double pixels) {
  CanvasView next = view();
  next.top = clamped_top(next.top + pixels);
  move_to(next, ViewMove::scroll);
}

void TimelineCanvas::scale_lanes(double factor) {
  CanvasView next = view();
  const double now = lane_height() / devicePixelRatioF();
  next.lane_height = std::clamp(now * factor, 9.0, 200.0);
  move_to(next, ViewMove::zoom);
  CanvasView in_range = view();
  in_range.top = clamped_top(in_range.top);
  move_to(in_range, ViewMove::zoom);
}

void TimelineCanvas::set_choice(LaneChoice choice) {
  choice.ranks = choice_.ranks;
  choice.two_runs = second_ != nullptr;
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
                      place.top() >= header - 1 && place.bottom() <= height() + 1;
    if (reveal && !seen) {
      CanvasView next = view();
      const double x = next.axis.x_of(run.timeline.begin[task].picoseconds);
      if (place.right() <= gutter || place.left() >= width()) {
        next.axis.origin = next.axis.time_at(x - lanes_width() / 2);
      }
      next.top = clamped_top(next.top + place.center().y() - (header + height()) / 2.0);
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

void TimelineCanvas::set_marks(std::vector<std::int64_t> marks) {
  marks_ = std::move(marks);
  update();
}

// ---- pictures of the lanes ----

std::shared_ptr<CanvasFrame> TimelineCanvas::new_frame() const {
  auto frame = std::make_shared<CanvasFrame>();
  frame->first = first_;
  frame->second = second_;
  frame->rows = rows();
  frame->bright = bright_;
  frame->dims = dims_;
  frame->theme = &theme(theme_);
  frame->glyphs = glyphs_;
  frame->view = view();
  frame->ratio = devicePixelRatioF();
  frame->generation = generation_;
  const int wide = static_cast<int>(std::lround(lanes_width() * frame->ratio));
  const int high = static_cast<int>(std::lround(std::max(1, height() - header) * frame->ratio));
  frame->image = QImage(wide, high, QImage::Format_RGB32);
  return frame;
}

bool TimelineCanvas::fits_now(const CanvasFrame& frame) const {
  const QSize wanted(static_cast<int>(std::lround(lanes_width() * frame.ratio)),
                     static_cast<int>(std::lround(std::max(1, height() - header) * frame.ratio)));
  return frame.generation == generation_ && frame.view == view() && frame.image.size() == wanted &&
         frame.ratio == devicePixelRatioF();
}

void TimelineCanvas::want_frame() {
  if (glyphs_ == nullptr || glyphs_ratio_ != devicePixelRatioF()) {
    glyphs_ratio_ = devicePixelRatioF();
    glyphs_ = std::make_shared<const Glyphs>(glyphs_of(font(), glyphs_ratio_));
  }
  if (frame_ != nullptr && fits_now(*frame_)) return;
  if (at_work_) return;  // it asks again when it is done
  if (frame_ != nullptr && last_ms_ > frame_ms) return start_worker();
  auto frame = new_frame();
  drawing_->draw(*frame);
  take_frame(std::move(frame));
}

void TimelineCanvas::start_worker() {
  at_work_ = true;
  const std::uint64_t job = ++job_;
  QThreadPool::globalInstance()->start([frame = new_frame(), drawing = drawing_, job,
                                        canvas = QPointer<TimelineCanvas>(this)]() mutable {
    drawing->draw(*frame);
    QMetaObject::invokeMethod(
        qApp,
        [frame, job, canvas] {
          if (canvas == nullptr || canvas->job_ != job) return;
          canvas->at_work_ = false;
          canvas->take_frame(frame);
          canvas->update();
        },
        Qt::QueuedConnection);
  });
}

void TimelineCanvas::take_frame(std::shared_ptr<CanvasFrame> frame) {
  last_ms_ = frame->ms;
  counts_ = frame->counts;
  frame_ = std::move(frame);
}

void TimelineCanvas::finish() {
  if (first_ == nullptr) return;
  QThreadPool::globalInstance()->waitForDone();
  ++job_;  // what has been drawn is taken no more
  at_work_ = false;
  last_ms_ = 0;
  want_frame();
}

// ---- what lies where ----

QRectF TimelineCanvas::strip_of(std::uint32_t rank, LaneKind kind) const {
  const double ratio = devicePixelRatioF();
  for (const LaneRow& row : rows()) {
    if (row.rank != rank || row.kind != kind || row.run != 0) continue;
    return {static_cast<double>(gutter), header + row.top / ratio - view().top, lanes_width(),
            row.height / ratio};
  }
  return {};
}

QRectF TimelineCanvas::place_of_task(TaskId task) const {
  if (first_ == nullptr || task >= first_->run->plan.tasks()) return {};
  const Plan& plan = first_->run->plan;
  const std::uint32_t resource = plan.class_of(task).resource;
  std::uint32_t rank = resource;
  LaneKind kind = LaneKind::compute;
  if (plan.is_link(resource)) {
    const Link& link = plan.link(resource);
    kind = is_rank(link.from) ? LaneKind::send : LaneKind::receive;
    rank = index(is_rank(link.from) ? link.from : link.to);
  }
  QRectF strip = strip_of(rank, kind);
  if (strip.isNull()) strip = strip_of(rank, LaneKind::compute);
  const double left = view().axis.x_of(first_->run->timeline.begin[task].picoseconds);
  const double right = view().axis.x_of(first_->run->timeline.end[task].picoseconds);
  return {gutter + left, strip.top(), std::max(1.0, right - left), strip.height()};
}

std::uint32_t TimelineCanvas::rank_at(double y) const {
  const double at = (y - header + view().top) * devicePixelRatioF();
  std::uint32_t rank = 0;
  for (const LaneRow& row : rows()) {
    if (row.top <= at) rank = row.rank;
  }
  return rank;
}

TaskId TimelineCanvas::task_at(QPointF point) const {
  if (first_ == nullptr || point.x() < gutter || point.y() < header) return no_task;
  const double y = (point.y() - header + view().top) * devicePixelRatioF();
  const std::int64_t time = view().axis.time_at(point.x() - gutter);
  for (const LaneRow& row : rows()) {
    if (row.run != 0 || y < row.top || y >= row.top + row.height) continue;
    if (row.rank >= first_->lanes->ranks.size()) continue;
    const RankTracks& tracks = first_->lanes->ranks[row.rank];
    const std::vector<Track>* own = nullptr;
    if (row.kind == LaneKind::compute) own = &tracks.compute;
    if (row.kind == LaneKind::send) own = &tracks.send;
    if (row.kind == LaneKind::receive) own = &tracks.receive;
    if (own == nullptr) continue;
    const auto count = static_cast<double>(own->size());
    for (std::size_t t = 0; t < own->size(); ++t) {
      const double low = row.top + row.height * static_cast<double>(t) / count;
      const double high = row.top + row.height * static_cast<double>(t + 1) / count;
      if (y < low || y >= std::max(high, low + 1)) continue;
      const std::size_t box = (*own)[t].at(time);
      if (box < (*own)[t].size()) return (*own)[t].tag[box];
    }
  }
  return no_task;
}

QString TimelineCanvas::text_at(QPointF point) const {
  if (first_ == nullptr || point.x() < gutter || point.y() < header) return {};
  const ViewedRun& run = *first_->run;
  const std::uint32_t rank = rank_at(point.y());
  const double pixel = view().axis.picoseconds_per_pixel;
  const std::int64_t time = view().axis.time_at(point.x() - gutter);
  const TaskId task = task_at(point);
  if (task != no_task) {
    const double length =
        static_cast<double>((run.timeline.end[task] - run.timeline.begin[task]).picoseconds);
    if (length >= pixel) return qt_text(op_text(run.plan, run.timeline, task));
  }
  if (rank >= first_->lanes->ranks.size()) return {};
  const Track& idle = first_->lanes->ranks[rank].idle;
  const std::size_t piece = idle.at(time);
  if (task == no_task && piece < idle.size()) {
    const auto length = static_cast<double>(idle.end[piece] - idle.begin[piece]);
    if (length >= pixel) {
      return QString("rank %1 idle for %2: %3")
          .arg(rank)
          .arg(qt_text(short_time(idle.end[piece] - idle.begin[piece])),
               name(cause_of(idle.tag[piece])));
    }
  }
  const std::int64_t until = time + static_cast<std::int64_t>(pixel);
  const AreaUse use = use_of({time, until, rank, rank + 1}, *first_->lanes, run.plan);
  if (use.ops == 0) return QString("rank %1 at %2").arg(rank).arg(qt_text(short_time(time)));
  return QString("rank %1 at %2: %3 ops in this pixel, %4 % busy")
      .arg(rank)
      .arg(qt_text(short_time(time)))
      .arg(use.ops)
      .arg(100.0 * static_cast<double>(use.busy) / static_cast<double>(until - time), 0, 'f', 0);
}

// ---- hands ----

void TimelineCanvas::resizeEvent(QResizeEvent* event) {
  if (first_ != nullptr && event->oldSize().width() > gutter) {
    // The same stretch of time on the new width.
    const double before = std::max(1, event->oldSize().width() - gutter);
    history_.change_all([&](CanvasView& seen) {
      seen.axis.picoseconds_per_pixel =
          std::max(1.0, seen.axis.picoseconds_per_pixel * before / lanes_width());
    });
  }
  QWidget::resizeEvent(event);
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const double steps = (turn.y() != 0 ? turn.y() : turn.x()) / 120.0;
  const bool scrolls = content_height() > height() - header;
  if (event->modifiers() & Qt::ShiftModifier || turn.x() != 0) {
    pan(-0.1 * steps);
  } else if (event->modifiers() & Qt::AltModifier) {
    scale_lanes(std::pow(1.15, steps));
  } else if (event->modifiers() & Qt::ControlModifier || !scrolls) {
    zoom_at(event->position().x() - gutter, std::pow(1.25, -steps));
  } else {
    scroll(-60 * steps);
  }
  event->accept();
}

bool TimelineCanvas::event(QEvent* event) {
  if (event->type() == QEvent::NativeGesture) {
    const auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() == Qt::ZoomNativeGesture) {
      zoom_at(gesture->position().x() - gutter, std::exp(-gesture->value()));
      return true;
    }
  }
  return QWidget::event(event);
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  if (first_ == nullptr) return;
  setFocus(Qt::MouseFocusReason);
  drag_from_ = event->position();
  drag_view_ = view();
  dragged_ = false;
  const bool pans = event->button() == Qt::MiddleButton ||
                    (event->button() == Qt::LeftButton && event->modifiers() & Qt::ShiftModifier);
  if (event->position().y() < 28) {
    drag_ = Drag::map;
    move_map(event->position().x());
  } else if (pans) {
    drag_ = Drag::pan;
    setCursor(Qt::ClosedHandCursor);
  } else if (event->button() == Qt::LeftButton && event->position().x() >= gutter) {
    drag_ = Drag::area;
  }
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->position();
  if (first_ == nullptr) return;
  const QPointF way = event->position() - drag_from_;
  if (way.manhattanLength() > click_reach) dragged_ = true;
  if (drag_ == Drag::map) {
    move_map(event->position().x());
  } else if (drag_ == Drag::pan) {
    CanvasView next = drag_view_;
    next.axis = panned(next.axis, -way.x(), first_->lanes->span, lanes_width());
    next.top = clamped_top(next.top - way.y());
    move_to(next, ViewMove::pan);
  } else if (drag_ == Drag::area && dragged_) {
    drag_area(event->position(), !(event->modifiers() & Qt::AltModifier));
  } else {
    const TaskId task = task_at(event->position());
    if (task != hovered_) {
      hovered_ = task;
      update();
    }
  }
  if (on_hover) on_hover(text_at(event->position()));
}

void TimelineCanvas::drag_area(QPointF to, bool snap) {
  const std::uint32_t one = rank_at(drag_from_.y());
  const std::uint32_t other = rank_at(to.y());
  Area area{.first_rank = std::min(one, other), .end_rank = std::max(one, other) + 1};
  const auto reach = static_cast<std::int64_t>(snap_reach * view().axis.picoseconds_per_pixel);
  const auto edge = [&](double x) {
    const std::int64_t time = view().axis.time_at(x - gutter);
    const auto near = nearest_edge(*first_->lanes, area.first_rank, area.end_rank, time, reach);
    return snap && near ? *near : std::clamp<std::int64_t>(time, 0, first_->lanes->span);
  };
  area.begin = edge(std::min(drag_from_.x(), to.x()));
  area.end = edge(std::max(drag_from_.x(), to.x()));
  set_area(area);
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (drag_ == Drag::area && !dragged_) {
    select(task_at(event->position()), false);
    if (selected_ == no_task) set_area(std::nullopt);
  }
  drag_ = Drag::none;
  unsetCursor();
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (first_ == nullptr || event->position().x() < gutter) return;
  const TaskId task = task_at(event->position());
  const Timeline& timeline = first_->run->timeline;
  const double pixel = view().axis.picoseconds_per_pixel;
  const double x = event->position().x() - gutter;
  if (task != no_task &&
      static_cast<double>((timeline.end[task] - timeline.begin[task]).picoseconds) > 3 * pixel) {
    fit_stretch(timeline.begin[task].picoseconds, timeline.end[task].picoseconds);
  } else {
    zoom_at(x, 1.0 / 16);
  }
}

void TimelineCanvas::leaveEvent(QEvent* event) {
  pointer_ = {-1, -1};
  hovered_ = no_task;
  if (on_hover) on_hover({});
  update();
  QWidget::leaveEvent(event);
}

void TimelineCanvas::move_map(double x) {
  const double share = (x - gutter) / lanes_width();
  CanvasView next = view();
  const auto middle = static_cast<std::int64_t>(share * static_cast<double>(first_->lanes->span));
  next.axis.origin =
      middle - static_cast<std::int64_t>(lanes_width() / 2 * next.axis.picoseconds_per_pixel);
  next.axis = panned(next.axis, 0, first_->lanes->span, lanes_width());
  move_to(next, ViewMove::pan);
}

}  // namespace penstock
