#include <QContextMenuEvent>

#include "gui/models/facts/area_facts.hpp"
#include "gui/views/canvas/canvas.hpp"

namespace penstock {

std::uint8_t TimelineCanvas::run_in_hand() const {
  if (first_ == nullptr) return 0;
  const LaneRow* const at =
      rect().contains(hands_.pointer().toPoint()) && hands_.pointer().y() >= header
          ? row_at(hands_.pointer().y())
          : nullptr;
  if (at != nullptr && hands_.pointer().y() < top_of(*at) + at->height / devicePixelRatioF()) {
    return run_of(*at);
  }
  if (!marked_.selected.is_none()) return marked_.selected.run;
  const bool alone =
      choice_.style == PairStyle::only_first || choice_.style == PairStyle::only_other;
  return alone && !rows().empty() ? rows().front().run : 0;
}

void TimelineCanvas::hover(const ShownOp& op) {
  if (op == marked_.hovered) return;
  update(reach_of(*this, marked_.hovered));
  marked_.hovered = op;
  update(reach_of(*this, op));
}

void TimelineCanvas::move_cursor(std::optional<double> x) {
  if (x == marked_.cursor) return;
  const auto line = [&] {
    if (!marked_.cursor) return;
    update(QRect(static_cast<int>(*marked_.cursor) - 2, map_height, 5, height()));
    update(QRect(0, map_height, width(), header - map_height));
  };
  line();
  marked_.cursor = x;
  line();
}

void TimelineCanvas::point_at(QPointF point, bool drags) {
  const bool on_lanes = point.x() >= gutter && point.y() >= map_height;
  move_cursor(on_lanes ? std::optional(point.x()) : std::nullopt);
  if (drags) {
    hover({});
    return hide_tip();
  }
  hover(task_at(point));
  const Facts facts = facts_at(point, seen_with_slack());
  tip_.show_facts(facts, colours(), mapToGlobal(point.toPoint()));
  if (on_hover) on_hover(QString::fromStdString(facts.in_one_line()));
}

void TimelineCanvas::forget_pointer() {
  hands_.leave();
  marked_.hovered = {};
  marked_.cursor.reset();
  hide_tip();
  update();
}

void TimelineCanvas::hide_tip() {
  tip_.hide();
  if (on_hover) on_hover({});
}

void TimelineCanvas::leaveEvent(QEvent* event) {
  forget_pointer();
  QWidget::leaveEvent(event);
}

SeenRuns TimelineCanvas::seen_with_slack() {
  SeenRuns all = seen();
  for (std::size_t number = 0; number < runs(); ++number) {
    all.slack.push_back(slack_.of(run(number).run));
  }
  return all;
}

Facts TimelineCanvas::facts_of_selection() {
  if (first_ == nullptr) return {};
  SeenRuns all = seen_with_slack();
  all.origin = 0;
  if (!marked_.selected.is_none()) return facts_of_op(all, marked_.selected);
  if (!marked_.area) return {};
  if (selected_memory() != nullptr) return facts_of_memory(all, *marked_.area);
  const auto gap = selected_gap();
  if (gap) return facts_of_idle(all, *gap, marked_.area->run);
  return facts_of_area(*marked_.area, all.of(marked_.area->run), run(marked_.area->run).run->plan,
                       nullptr);
}

std::optional<IdlePiece> TimelineCanvas::selected_gap() const {
  if (!marked_.area || marked_.area->memory) return std::nullopt;
  return idle_of(*marked_.area, *run(marked_.area->run).lanes);
}

void TimelineCanvas::select_at(QPointF point) {
  const ShownOp op = task_at(point);
  select(op, false);
  const auto step = memory_at(point);
  if (op.is_none()) set_area(step ? step : CanvasScene::idle_at(point));
}

void TimelineCanvas::hideEvent(QHideEvent* event) {
  forget_pointer();
  QWidget::hideEvent(event);
}

/// Where a menu opens that was asked for by key.
QPointF TimelineCanvas::place_in_hand() const {
  QRectF place = place_of_task(marked_.selected);
  if (marked_.area) {
    const Area& area = *marked_.area;
    place = area.memory ? place_of_memory(area.first_rank, area.run)
                        : place_of_lane(area.first_rank, area.run);
    place.setLeft(gutter + view().axis.x_of(marked_.area->begin));
    place.setRight(gutter + view().axis.x_of(marked_.area->end));
  }
  place &= QRectF(gutter, header, lanes_width(), height() - header);
  return (place.isEmpty() ? QRectF(rect()) : place).center();
}

void TimelineCanvas::contextMenuEvent(QContextMenuEvent* event) {
  if (first_ == nullptr || !on_menu) return;
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const QPointF at = by_key ? place_in_hand() : QPointF(event->pos());
  const std::int64_t time = view().axis.time_at(at.x() - gutter);
  const bool inside = marked_.area && time >= marked_.area->begin && time < marked_.area->end;
  if (!by_key && !inside && at.y() >= header) select_at(at);
  tip_.hide();
  on_menu(mapToGlobal(at.toPoint()));
  if (!by_key) hands_.stay_at(at);
}

}  // namespace penstock
