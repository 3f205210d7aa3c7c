#include "gui/views/canvas/canvas.hpp"

#include <QAccessible>
#include <QNativeGestureEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/run/run_pair.hpp"
#include "gui/views/canvas/canvas_gutter.hpp"
#include "gui/views/canvas/canvas_vector.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {

TimelineCanvas::TimelineCanvas(QWidget* parent)
    : QWidget(parent), CanvasScene(static_cast<const QWidget&>(*this)) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(320, 160);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName("Timeline");
  setAccessibleDescription("No run is open");
  frames_.on_drawn = [this] { update(); };
  slack_.on_found = [this] {
    if (!tip_.isHidden()) point_at(hands_.pointer(), false);
    if (on_selection) on_selection();
  };
}

void TimelineCanvas::show_runs(PaintedRunPtr first, std::vector<PaintedRunPtr> others,
                               bool keep_view, const KeptOps* kept) {
  const bool keeps = keep_view && first_ != nullptr;
  const bool same = keeps && first->run == first_->run &&
                    std::ranges::equal(others, others_, {}, &PaintedRun::run, &PaintedRun::run);
  if (!same) keep_ops(keeps ? kept : nullptr);
  first_ = std::move(first);
  others_ = std::move(others);
  choice_.ranks = static_cast<std::uint32_t>(first_->lanes->ranks.size());
  for (const PaintedRunPtr& other : others_) {
    choice_.ranks = std::max(choice_.ranks, static_cast<std::uint32_t>(other->lanes->ranks.size()));
  }
  choice_.runs = static_cast<std::uint8_t>(runs());
  choice_.frozen = runs() > 1 && first_->against_a != nullptr;
  choice_.link_count = static_cast<std::uint32_t>(first_->run->plan.links.size());
  // A brief run knows too little to be ordered by.
  if (!first_->run->brief || choice_.order.size() > first_->facts->size()) order_ranks();
  marked_.path = {};
  marked_.slack.reset();
  if (marked_.area && marked_.area->run >= runs()) marked_.area.reset();
  if (marked_.area && marked_.area->memory && selected_memory() == nullptr) marked_.area.reset();
  std::vector<PaintedRunPtr> all = others_;
  all.push_back(first_);
  slack_.keep(all);
  setAccessibleDescription(qt_text(first_->run->title));
  invalidate();
  if (!keeps) {
    marked_.area.reset();
    marked_.times.clear();
    history_ = ViewHistory({axis_for(0, first_->lanes->span, lanes_width()), 0, 0});
  }
  view_changed();
  if (on_selection) on_selection();
}

/// What was marked while other runs were made is marked no longer.
void TimelineCanvas::keep_ops(const KeptOps* kept) {
  marked_.hovered = {};
  const bool same_op = kept != nullptr && kept->selected == marked_.selected;
  const bool same_bright = kept != nullptr && kept->bright == marked_.bright;
  marked_.selected = same_op ? kept->now_selected : ShownOp();
  marked_.bright = same_bright ? kept->now_bright : ShownOps();
  marked_.dims = marked_.dims && !marked_.bright.empty();
}

void TimelineCanvas::invalidate() {
  ++generation_;
  update();
}

void TimelineCanvas::set_choice(LaneChoice choice) {
  choice.ranks = choice_.ranks;
  choice.runs = choice_.runs;
  choice.link_count = choice_.link_count;
  choice.frozen = choice_.frozen;
  choice.order = choice_.order;
  choice_ = choice;
  invalidate();
  if (first_ != nullptr && on_view) on_view();  // what is heat may have changed
}

void TimelineCanvas::leave_out_what_does_not_fit() {
  if (lane_height() >= readable_height()) return;
  choice_.transfers = false;
  invalidate();
}

void TimelineCanvas::set_theme(ThemeName name) {
  theme_ = name;
  invalidate();
}

void TimelineCanvas::select(ShownOp op, bool reveals) {
  if (first_ == nullptr) return;
  marked_.selected = op;
  if (!op.is_none()) {
    marked_.area.reset();
    announce();
    if (reveals) reveal(op);
  }
  update();
  if (on_selection) on_selection();
}

/// Tells screen readers what is selected.
void TimelineCanvas::announce() {
  setAccessibleDescription(QString::fromStdString(facts_of_selection().in_one_line()));
  QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&changed);
}

void TimelineCanvas::set_area(std::optional<Area> area) {
  marked_.area = area;
  if (area) {
    marked_.selected = {};
    announce();
  }
  update();
  if (on_selection) on_selection();
}

void TimelineCanvas::set_bright(ShownOps ops, bool dims) {
  marked_.bright = std::move(ops);
  marked_.dims = dims;
  invalidate();
}

void TimelineCanvas::set_path(ShownOps path) {
  marked_.path = std::move(path);
  update();
}

void TimelineCanvas::set_slack(std::shared_ptr<const std::vector<float>> slack) {
  marked_.slack = std::move(slack);
  invalidate();
}

void TimelineCanvas::set_marks(std::vector<std::int64_t> marks) {
  marked_.times = std::move(marks);
  update();
}

void TimelineCanvas::move_to(const CanvasView& view, ViewMove kind) {
  if (first_ == nullptr) return;
  history_.move(view, kind);
  view_changed();
}

void TimelineCanvas::view_changed() {
  update();
  if (!tip_.isHidden()) point_at(hands_.pointer(), false);
  if (on_view) on_view();
}

void TimelineCanvas::fit() {
  if (first_ == nullptr) return;
  CanvasView whole{axis_for(0, span(), std::max(1, width() - gutter)), 0, 0};
  const int high = height_of(lane_rows(choice_in(whole), lane_height(whole)));
  if (high > (height() - header) * devicePixelRatioF()) {
    whole.axis = axis_for(0, span(), std::max(1, width() - gutter - overview));
  }
  move_to(whole, ViewMove::jump);
}

bool TimelineCanvas::set_rank_order(const RankOrder& order) {
  if (first_ == nullptr || ranks_in(order, *first_->facts).empty()) return false;
  order_ = order;
  order_ranks();
  invalidate();
  CanvasView next = view();
  next.top = clamped_top(0);
  move_to(next, ViewMove::scroll);
  return true;
}

void TimelineCanvas::order_ranks() {
  choice_.order.clear();
  if (!order_.is_default()) choice_.order = ranks_in(order_, *first_->facts);
}

/// After a jump to a rank that was filtered out or folded away.
void TimelineCanvas::show_rank(std::uint32_t rank) {
  const std::vector<std::uint32_t> shown = shown_ranks(choice_);
  if (std::find(shown.begin(), shown.end(), rank) != shown.end()) return;
  set_rank_order({.sort = order_.sort});
}

void TimelineCanvas::toggle_pin(std::uint32_t rank) {
  if (std::erase(choice_.pinned, rank) == 0) choice_.pinned.push_back(rank);
  invalidate();
}

void TimelineCanvas::fit_stretch(std::int64_t begin, std::int64_t end) {
  move_to(fitted(begin, end), ViewMove::jump);
}

void TimelineCanvas::fit_area(const Area& area, std::int64_t around) {
  show_run(area.run);
  show_rank(area.first_rank);
  CanvasView next = fitted(area.begin - around, area.end + around);
  if (around == 0) {
    next.lane_height = height_showing(area);
  } else if (lane_height(next) < readable_height()) {
    next.lane_height = readable_height() / devicePixelRatioF();
  }
  next.top = top_showing(next, area);
  move_to(next, ViewMove::jump);
}

void TimelineCanvas::show_lane(const Area& area) {
  show_run(area.run);
  show_rank(area.first_rank);
  CanvasView next = view();
  next.top = top_showing(next, area);
  move_to(next, ViewMove::jump);
}

void TimelineCanvas::show_link(std::uint32_t link) {
  CanvasView next = view();
  next.top = top_showing(place_of_link(link), false);
  move_to(next, ViewMove::jump);
}

void TimelineCanvas::show_run(std::uint8_t run) {
  const bool shown =
      std::any_of(rows().begin(), rows().end(), [&](const LaneRow& row) { return row.run == run; });
  if (shown) return;
  choice_.style = PairStyle::above;
  invalidate();
}

void TimelineCanvas::reveal(const ShownOp& op) {
  show_run(op.run);
  const std::uint32_t rank = rank_of_task(run(op.run).run->plan, op.task);
  show_rank(rank);
  reveal(place_of_task(op), is_pinned(rank));
}

void TimelineCanvas::reveal(const Area& step) {
  show_run(step.run);
  show_rank(step.first_rank);
  QRectF place = place_of_memory(step.first_rank, step.run);
  place.setLeft(gutter + view().axis.x_of(step.begin));
  place.setRight(gutter + view().axis.x_of(step.end));
  reveal(place, is_pinned(step.first_rank));
}

void TimelineCanvas::reveal(const QRectF& place, bool pinned) {
  const double seen =
      std::min<double>(place.right(), width()) - std::max<double>(place.left(), gutter);
  CanvasView next = view();
  if (seen < std::min(place.width(), lanes_width()) / 2) {
    const double x = place.left() - gutter;
    next.axis.origin = next.axis.time_at(x - lanes_width() / 2);
  }
  next.top = top_showing(place, pinned);
  if (!(next == view())) move_to(next, ViewMove::pan);
}

void TimelineCanvas::zoom(double factor) {
  const bool inside = rect().contains(hands_.pointer().toPoint()) && hands_.pointer().x() > gutter;
  zoom_at(inside ? hands_.pointer().x() - gutter : lanes_width() / 2, factor);
}

void TimelineCanvas::zoom_at(double x, double factor) {
  if (first_ == nullptr) return;
  CanvasView next = view();
  next.axis = zoomed(next.axis, x, factor, span(), lanes_width());
  move_keeping(hands_.pointer().y(), next);
}

/// Zooms; the rank at a height, or in the middle, keeps its place.
void TimelineCanvas::move_keeping(double y, const CanvasView& next) {
  if (y < header || y >= height()) y = header + (height() - header) / 2.0;
  const LaneRow* const at = row_at(y);
  const LaneRow before = at == nullptr ? LaneRow{} : *at;
  const double share = at == nullptr ? 0 : (y - top_of(*at)) / place_of(*at).height();
  CanvasView kept = next;
  history_.move(next, ViewMove::zoom);
  const LaneRow* const same = row_with(rows(), LaneKind::compute, before.rank, before.run);
  if (same != nullptr && !same->pinned) {
    kept.top = clamped_top(view().top + top_of(*same) + share * place_of(*same).height() - y);
  }
  move_to(kept, ViewMove::zoom);
}

void TimelineCanvas::pan(double share_of_width) {
  if (first_ == nullptr) return;
  CanvasView next = view();
  next.axis = panned(next.axis, share_of_width * lanes_width(), span(), lanes_width());
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
  next.lane_height = std::clamp(std::max(now * factor, factor > 1 ? now + 1 : 0), 1.0, 200.0);
  move_keeping(hands_.pointer().y(), next);
}

void TimelineCanvas::resizeEvent(QResizeEvent* event) {
  if (first_ != nullptr && event->oldSize().width() > gutter) {
    // The same stretch of time on the new width.
    const double before =
        std::max(1.0, event->oldSize().width() - gutter - overview_place().width());
    history_.change_all([&](CanvasView& seen) {
      seen.axis.picoseconds_per_pixel =
          std::max(1.0, seen.axis.picoseconds_per_pixel * before / lanes_width());
    });
  }
  QWidget::resizeEvent(event);
  if (first_ != nullptr && on_view) on_view();
}

bool TimelineCanvas::event(QEvent* event) {
  if (event->type() == QEvent::WindowDeactivate) hide_tip();
  if (event->type() == QEvent::NativeGesture) {
    const auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() == Qt::ZoomNativeGesture) {
      zoom_at(gesture->position().x() - gutter, std::exp(-gesture->value()));
      return true;
    }
  }
  return QWidget::event(event);
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const double steps = (turn.y() != 0 ? turn.y() : turn.x()) / 120.0;
  if (event->modifiers() & Qt::ShiftModifier || turn.x() != 0) {
    pan(-0.1 * steps);
  } else if (event->modifiers() & Qt::AltModifier) {
    scale_lanes(std::pow(1.15, steps));
  } else if (event->modifiers() & Qt::ControlModifier || !wheel_scrolls()) {
    zoom_at(event->position().x() - gutter, std::pow(1.25, -steps));
  } else {
    scroll(-60 * steps);
  }
  event->accept();
}

void TimelineCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.setClipRegion(event->region());
  if (first_ == nullptr) return paint_empty(*this, painter);
  frames_.want();
  if (is_vector(painter)) {
    paint_vector(frames_.last(), painter);
  } else {
    paint_frame(*this, frames_.last(), frames_.fits(frames_.last()), painter);
  }
  paint_overlay(*this, painter);
  chrome_.paint(painter);
  paint_times(*this, painter);
  paint_overview(*this, painter);
  if (hands_.dragged()) hands_.paint_drag(painter);
  if (hasFocus()) {
    painter.setPen(qt_colour(colours().accent));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

}  // namespace penstock
