#include <algorithm>
#include <cmath>

#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {

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

std::optional<std::uint32_t> TimelineCanvas::boundary_at(QPointF point) const {
  if (first_ == nullptr || point.x() >= gutter || point.y() < header) return std::nullopt;
  constexpr double reach = 4;
  const LaneRow* above = nullptr;
  for (const LaneRow& row : rows()) {
    const double top = header + row.top / devicePixelRatioF() - view().top;
    if (above != nullptr && row.rank == above->rank + 1 && std::abs(point.y() - top) <= reach) {
      return above->rank;
    }
    above = &row;
  }
  return std::nullopt;
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
    const auto length = static_cast<double>(idle.end_at(piece) - idle.begin_at(piece));
    if (length >= pixel) {
      return QString("rank %1 idle for %2: %3")
          .arg(rank)
          .arg(qt_text(short_time(idle.end_at(piece) - idle.begin_at(piece))),
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

}  // namespace penstock
