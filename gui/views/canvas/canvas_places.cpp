#include <algorithm>
#include <cmath>

#include "experiments/files/table.hpp"
#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {

double TimelineCanvas::top_of(const LaneRow& row) const {
  const bool stays = row.pinned && kept_height() > 0;
  return header + row.top / devicePixelRatioF() - (stays ? 0 : view().top);
}

QRectF TimelineCanvas::room_of(bool pinned) const {
  const double kept = kept_height();
  const double top = header + (pinned ? 0 : kept);
  const double bottom = pinned && kept > 0 ? header + kept : height();
  return {static_cast<double>(gutter), top, lanes_width(), bottom - top};
}

QRectF TimelineCanvas::strip_of(std::uint32_t rank, LaneKind kind) const {
  const double ratio = devicePixelRatioF();
  for (const LaneRow& row : rows()) {
    if (row.rank != rank || row.kind != kind || row.run != 0) continue;
    return {static_cast<double>(gutter), top_of(row), lanes_width(), row.height / ratio};
  }
  return {};
}

QRectF TimelineCanvas::place_of_task(TaskId task) const {
  if (first_ == nullptr || task >= first_->run->plan.tasks()) return {};
  const Plan& plan = first_->run->plan;
  const std::uint32_t resource = plan.class_of(task).resource;
  std::uint32_t rank = resource;
  LaneKind kind = LaneKind::compute;
  Time end = first_->run->timeline.end[task];
  if (plan.is_link(resource)) {
    const Link& link = plan.link(resource);
    kind = is_rank(link.from) ? LaneKind::send : LaneKind::receive;
    rank = index(is_rank(link.from) ? link.from : link.to);
  }
  QRectF strip = strip_of(rank, kind);
  if (strip.isNull() && plan.is_link(resource)) {
    strip = strip_of(resource - plan.ranks, LaneKind::link);
    if (!strip.isNull()) end = left_link_at(*first_->run, task);
  }
  if (strip.isNull()) strip = strip_of(rank, LaneKind::compute);
  const double left = view().axis.x_of(first_->run->timeline.begin[task].picoseconds);
  const double right = view().axis.x_of(end.picoseconds);
  return {gutter + left, strip.top(), std::max(1.0, right - left), strip.height()};
}

bool TimelineCanvas::is_pinned(TaskId task) const {
  const Plan& plan = first_->run->plan;
  const std::uint32_t resource = plan.class_of(task).resource;
  if (plan.is_link(resource) && !choice_.transfers && choice_.links) return false;
  std::uint32_t rank = resource;
  if (plan.is_link(resource)) {
    const Link& link = plan.link(resource);
    rank = index(is_rank(link.from) ? link.from : link.to);
  }
  return std::find(choice_.pinned.begin(), choice_.pinned.end(), rank) != choice_.pinned.end();
}

/// The strip at a height, of those that can be seen there; the last one that begins above it if it
/// lies between two.
const LaneRow* TimelineCanvas::row_at(double y) const {
  const double kept = kept_height();
  const LaneRow* found = nullptr;
  for (const LaneRow& row : rows()) {
    if (kept > 0 && row.pinned != (y < header + kept)) continue;
    if (found == nullptr || top_of(row) <= y) found = &row;
  }
  return found;
}

std::uint32_t TimelineCanvas::rank_at(double y) const {
  const LaneRow* const at = row_at(y);
  if (at == nullptr) return 0;
  if (at->kind != LaneKind::link) return at->rank;
  // Links stand below all ranks.
  std::uint32_t last = 0;
  for (const LaneRow& row : rows()) {
    if (row.kind != LaneKind::link) last = row.rank;
  }
  return last;
}

std::optional<std::uint32_t> TimelineCanvas::boundary_at(QPointF point) const {
  if (first_ == nullptr || point.x() >= gutter || point.y() < header) return std::nullopt;
  constexpr double reach = 4;
  const LaneRow* above = nullptr;
  for (const LaneRow& row : rows()) {
    if (row.kind == LaneKind::link) break;
    const bool follows = above != nullptr && row.rank == above->rank + 1;
    const bool seen = room_of(row.pinned).top() - reach <= point.y();
    if (follows && seen && std::abs(point.y() - top_of(row)) <= reach) return above->rank;
    above = &row;
  }
  return std::nullopt;
}

/// Of the first run; nullptr where a strip shows something else.
const std::vector<Track>* TimelineCanvas::tracks_of(const LaneRow& row) const {
  if (row.run != 0) return nullptr;
  if (row.kind == LaneKind::link) {
    const bool known = first_->links != nullptr && row.rank < first_->links->size();
    return known ? &(*first_->links)[row.rank].tracks : nullptr;
  }
  if (row.rank >= first_->lanes->ranks.size()) return nullptr;
  const RankTracks& tracks = first_->lanes->ranks[row.rank];
  if (row.kind == LaneKind::compute) return &tracks.compute;
  if (row.kind == LaneKind::send) return &tracks.send;
  return row.kind == LaneKind::receive ? &tracks.receive : nullptr;
}

TaskId TimelineCanvas::task_at(QPointF point) const {
  if (first_ == nullptr || point.x() < gutter || point.y() < header) return no_task;
  const LaneRow* const row = row_at(point.y());
  if (row == nullptr) return no_task;
  const std::vector<Track>* const own = tracks_of(*row);
  const double y = (point.y() - top_of(*row)) * devicePixelRatioF();
  if (own == nullptr || y < 0 || y >= row->height) return no_task;
  const std::int64_t time = view().axis.time_at(point.x() - gutter);
  const auto count = static_cast<double>(own->size());
  for (std::size_t t = 0; t < own->size(); ++t) {
    const double low = row->height * static_cast<double>(t) / count;
    const double high = row->height * static_cast<double>(t + 1) / count;
    if (y < low || y >= std::max(high, low + 1)) continue;
    const std::size_t box = (*own)[t].at(time);
    if (box < (*own)[t].size()) return (*own)[t].tag[box];
  }
  return no_task;
}

QString TimelineCanvas::text_at(QPointF point) const {
  if (first_ == nullptr || point.x() < gutter || point.y() < header) return {};
  const ViewedRun& run = *first_->run;
  const std::int64_t time = view().axis.time_at(point.x() - gutter);
  const TaskId task = task_at(point);
  if (task != no_task) {
    const double length =
        static_cast<double>((run.timeline.end[task] - run.timeline.begin[task]).picoseconds);
    if (length >= view().axis.picoseconds_per_pixel) {
      return qt_text(op_text(run.plan, run.timeline, task));
    }
  }
  const LaneRow* const row = row_at(point.y());
  if (row != nullptr && row->kind == LaneKind::link) return text_of_link(*row, time);
  if (row != nullptr && row->kind == LaneKind::memory) return text_of_memory(*row, time);
  return text_of_rank(rank_at(point.y()), time, task != no_task);
}

/// What a pixel of a link's lane shows.
QString TimelineCanvas::text_of_link(const LaneRow& row, std::int64_t time) const {
  const std::vector<Track>* const tracks = tracks_of(row);
  if (tracks == nullptr) return {};
  const auto pixel =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(view().axis.picoseconds_per_pixel));
  int transfers = 0;
  std::int64_t used = 0;
  for (const Track& track : *tracks) {
    track.for_each_between(time, time + pixel,
                           [&](std::int64_t begin, std::int64_t end, std::uint32_t) {
                             ++transfers;
                             used += std::min(end, time + pixel) - std::max(begin, time);
                           });
  }
  const Plan& plan = first_->run->plan;
  return QString("link %1 at %2: %3 in this pixel, %4 % used")
      .arg(qt_text(text(plan.links[row.rank])), qt_text(short_time(time)))
      .arg(qt_text(counted(static_cast<std::uint64_t>(transfers), "transfer")))
      .arg(100.0 * static_cast<double>(used) / static_cast<double>(pixel), 0, 'f', 0);
}

/// What a rank holds at a moment.
QString TimelineCanvas::text_of_memory(const LaneRow& row, std::int64_t time) const {
  const PaintedRunPtr& run = row.run == 0 ? first_ : others_[row.run - 1U];
  if (run->memory == nullptr || row.rank >= run->memory->ranks.size()) return {};
  const RunMemory& memory = *run->memory;
  const MemorySteps& steps = memory.ranks[row.rank];
  const auto after = std::upper_bound(steps.time.begin(), steps.time.end(), time);
  if (after == steps.time.begin()) return {};
  const auto step = static_cast<std::size_t>(after - steps.time.begin() - 1);
  std::uint64_t total = 0;
  QStringList kinds;
  for (std::size_t k = 0; k < memory.kinds.size(); ++k) {
    const std::uint64_t bytes = steps.bytes[step * memory.kinds.size() + k];
    total += bytes;
    if (bytes == 0 || !memory.by_kind) continue;
    kinds << qt_text(name(memory.kinds[k])) + " " + qt_text(bytes_text(bytes));
  }
  QString text = QString("rank %1 at %2 holds %3")
                     .arg(row.rank)
                     .arg(qt_text(short_time(time)), qt_text(bytes_text(total)));
  const auto capacity = run->run->capacity_bytes;
  if (capacity) text += " of " + qt_text(bytes_text(*capacity));
  return kinds.isEmpty() ? text : text + ": " + kinds.join(", ");
}

/// What a pixel of a rank's lanes shows.
QString TimelineCanvas::text_of_rank(std::uint32_t rank, std::int64_t time, bool on_op) const {
  if (rank >= first_->lanes->ranks.size()) return {};
  const double pixel = view().axis.picoseconds_per_pixel;
  const Track& idle = first_->lanes->ranks[rank].idle;
  const std::size_t piece = idle.at(time);
  if (!on_op && piece < idle.size()) {
    const std::int64_t length = idle.end_at(piece) - idle.begin_at(piece);
    if (static_cast<double>(length) >= pixel) {
      return QString("rank %1 idle for %2: %3")
          .arg(rank)
          .arg(qt_text(short_time(length)), name(cause_of(idle.tag[piece])));
    }
  }
  const std::int64_t until = time + static_cast<std::int64_t>(pixel);
  const AreaUse use = use_of({time, until, rank, rank + 1}, *first_->lanes, first_->run->plan);
  if (use.ops == 0) return QString("rank %1 at %2").arg(rank).arg(qt_text(short_time(time)));
  return QString("rank %1 at %2: %3 in this pixel, %4 % busy")
      .arg(rank)
      .arg(qt_text(short_time(time)), qt_text(counted(use.ops, "op")))
      .arg(100.0 * static_cast<double>(use.busy) / static_cast<double>(until - time), 0, 'f', 0);
}

}  // namespace penstock
