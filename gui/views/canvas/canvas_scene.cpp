#include "gui/views/canvas/canvas_scene.hpp"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QPointer>
#include <QStringList>
#include <QThreadPool>
#include <algorithm>
#include <cmath>

#include "experiments/input/files/table.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

/// What a pixel of a link's lane shows.
QString text_of_link(const CanvasScene& scene, const LaneRow& row, std::int64_t time) {
  const std::vector<Track>* const tracks = tracks_in(row, scene.run(row.run));
  if (tracks == nullptr) return {};
  const auto pixel =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(scene.view().axis.picoseconds_per_pixel));
  int transfers = 0;
  std::int64_t used = 0;
  for (const Track& track : *tracks) {
    track.for_each_between(time, time + pixel,
                           [&](std::int64_t begin, std::int64_t end, std::uint32_t) {
                             ++transfers;
                             used += std::min(end, time + pixel) - std::max(begin, time);
                           });
  }
  const Plan& plan = scene.first()->run->plan;
  return QString("link %1%2 at %3: %4 in this pixel, %5 % used")
      .arg(qt_text(text(plan.links[row.rank])), scene.of_run(row.run), qt_text(short_time(time)))
      .arg(qt_text(counted(static_cast<std::uint64_t>(transfers), "transfer")))
      .arg(100.0 * static_cast<double>(used) / static_cast<double>(pixel), 0, 'f', 0);
}

/// What a rank holds at a moment.
QString text_of_memory(const CanvasScene& scene, const LaneRow& row, std::int64_t time) {
  const PaintedRun& of = scene.run(row.run);
  if (of.memory == nullptr || row.rank >= of.memory->ranks.size()) return {};
  const HeldMemory* const now = of.memory->ranks[row.rank].at({time});
  if (now == nullptr) return {};
  QStringList kinds;
  for (const BufferKind kind : of.memory->kinds) {
    const std::uint64_t bytes = now->by_kind[static_cast<std::size_t>(kind)];
    if (bytes > 0) kinds << qt_text(name(kind)) + " " + qt_text(bytes_text(bytes));
  }
  QString text =
      QString("rank %1%2 at %3 holds %4")
          .arg(row.rank)
          .arg(scene.of_run(row.run), qt_text(short_time(time)), qt_text(bytes_text(now->bytes)));
  const auto capacity = of.run->capacity_bytes;
  if (capacity) text += " of " + qt_text(bytes_text(*capacity));
  return kinds.isEmpty() ? text : text + ": " + kinds.join(", ");
}

/// What a pixel of a rank's lanes shows.
QString text_of_rank(const CanvasScene& scene, std::uint32_t rank, std::uint8_t of,
                     std::int64_t time, bool on_op) {
  const RunLanes& lanes = *scene.run(of).lanes;
  if (rank >= lanes.ranks.size()) return {};
  const QString who = QString("rank %1").arg(rank) + scene.of_run(of);
  const double pixel = scene.view().axis.picoseconds_per_pixel;
  const Track& idle = lanes.ranks[rank].idle;
  const std::size_t piece = idle.at(time);
  if (!on_op && piece < idle.size()) {
    const std::int64_t length = idle.end_at(piece) - idle.begin_at(piece);
    if (static_cast<double>(length) >= pixel) {
      return QString("%1 idle for %2: %3")
          .arg(who, qt_text(short_time(length)), name(cause_of(idle.tag[piece])));
    }
  }
  const std::int64_t until = time + static_cast<std::int64_t>(pixel);
  const AreaUse use = use_of({time, until, rank, rank + 1}, lanes, scene.run(of).run->plan);
  if (use.ops == 0) return QString("%1 at %2").arg(who, qt_text(short_time(time)));
  return QString("%1 at %2: %3 in this pixel, %4 % busy")
      .arg(who, qt_text(short_time(time)), qt_text(counted(use.ops, "op")))
      .arg(100.0 * static_cast<double>(use.busy) / static_cast<double>(until - time), 0, 'f', 0);
}

constexpr double frame_ms = 7;  // beyond this, a second thread draws

}  // namespace

const std::vector<LaneRow>& CanvasScene::rows() const {
  const std::tuple key(view().lane_height, has_wide_ops(view()), widget_.height(),
                       widget_.devicePixelRatioF());
  if (rows_key_ != key || !(rows_choice_ == choice_)) {
    rows_ = lane_rows(choice_, lane_height());
    rows_key_ = key;
    rows_choice_ = choice_;
  }
  return rows_;
}

double CanvasScene::content_height() const {
  return height_of(rows()) / widget_.devicePixelRatioF();
}

double CanvasScene::kept_height() const {
  const double pinned = pinned_height(rows()) / widget_.devicePixelRatioF();
  return 3 * pinned <= 2 * (widget_.height() - header) ? pinned : 0;
}

double CanvasScene::clamped_top(double top) const {
  return std::clamp(top, 0.0, std::max(0.0, content_height() - (widget_.height() - header) + 8));
}

double CanvasScene::lanes_width() const {
  return std::max(1.0, widget_.width() - gutter - overview_place().width());
}

double CanvasScene::top_of(const LaneRow& row) const {
  const bool stays = row.pinned && kept_height() > 0;
  return header + row.top / widget_.devicePixelRatioF() - (stays ? 0 : view().top);
}

QRectF CanvasScene::room_of(bool pinned) const {
  const double kept = kept_height();
  const double top = header + (pinned ? 0 : kept);
  const double bottom = pinned && kept > 0 ? header + kept : widget_.height();
  return {static_cast<double>(gutter), top, lanes_width(), bottom - top};
}

QRectF CanvasScene::place_of(const LaneRow& row) const {
  return {static_cast<double>(gutter), top_of(row), lanes_width(),
          row.height / widget_.devicePixelRatioF()};
}

QRectF CanvasScene::strip_of(std::uint32_t rank, LaneKind kind, std::uint8_t run) const {
  for (const LaneRow& row : rows()) {
    if (row.rank == rank && row.kind == kind && row.run == run) return place_of(row);
  }
  return {};
}

QRectF CanvasScene::place_of_task(ShownOp op) const {
  if (op.run >= runs() || op.task >= run(op.run).run->plan.tasks()) return {};
  const PaintedRun& of = run(op.run);
  const LaneRow* const row = row_of(rows(), of, op.run, op.task);
  if (row == nullptr) return {};
  const bool on_link = row->kind == LaneKind::link;
  const Time end = on_link ? left_link_at(*of.run, op.task) : of.run->timeline.end[op.task];
  const double left = view().axis.x_of(of.run->timeline.begin[op.task].picoseconds);
  const double right = view().axis.x_of(end.picoseconds);
  const QRectF strip = place_of(*row);
  return {gutter + left, strip.top(), std::max(1.0, right - left), strip.height()};
}

const RankFacts* CanvasScene::facts_of(const LaneRow& row) const {
  const std::vector<RankFacts>& facts = *run(row.run).facts;
  return row.kind != LaneKind::link && row.rank < facts.size() ? &facts[row.rank] : nullptr;
}

const LaneRow* CanvasScene::row_at(double y) const {
  const double kept = kept_height();
  const LaneRow* found = nullptr;
  for (const LaneRow& row : rows()) {
    if (kept > 0 && row.pinned != (y < header + kept)) continue;
    if (found == nullptr || top_of(row) <= y) found = &row;
  }
  return found;
}

std::uint32_t CanvasScene::rank_at(double y) const {
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

std::optional<std::uint32_t> CanvasScene::boundary_at(QPointF point) const {
  if (first_ == nullptr || point.x() >= gutter || point.y() < header) return std::nullopt;
  constexpr double reach = 4;
  const LaneRow* above = nullptr;
  for (const LaneRow& row : rows()) {
    if (row.kind == LaneKind::link) break;
    const bool follows = above != nullptr && row.rank == above->rank + 1 && !row.heat;
    const bool seen = room_of(row.pinned).top() - reach <= point.y();
    if (follows && seen && std::abs(point.y() - top_of(row)) <= reach) return above->rank;
    above = &row;
  }
  return std::nullopt;
}

std::uint8_t CanvasScene::run_of(const LaneRow& row) const {
  if (row.kind != LaneKind::difference) return row.run;
  return static_cast<std::uint8_t>(lettered(0, choice_.frozen));
}

QString CanvasScene::of_run(std::uint8_t run) const {
  return runs() > 1 ? QString(" of ") + QChar(letter_of_run(run, choice_.frozen)) : QString();
}

ShownOp CanvasScene::task_at(QPointF point) const {
  if (first_ == nullptr || point.x() < gutter || point.y() < header) return {};
  const LaneRow* const row = row_at(point.y());
  if (row == nullptr) return {};
  const std::uint8_t of = run_of(*row);
  const double y = (point.y() - top_of(*row)) * widget_.devicePixelRatioF();
  return {op_in(*row, run(of), y, view().axis.time_at(point.x() - gutter)), of};
}

std::int64_t CanvasScene::span() const {
  std::int64_t longest = first_->lanes->span;
  for (const PaintedRunPtr& other : others_) longest = std::max(longest, other->lanes->span);
  return longest;
}

CanvasView CanvasScene::fitted(std::int64_t begin, std::int64_t end) const {
  const std::int64_t margin = (end - begin) / 20 + 1;
  CanvasView next = view();
  // Nothing is ahead of the runs or behind them.
  const std::int64_t from = std::max(begin - margin, -margin);
  const std::int64_t until = std::min(end + margin, span() + margin);
  next.axis = axis_for(from, std::max(until, from + 1), lanes_width());
  next.axis.picoseconds_per_pixel = std::max(1.0, next.axis.picoseconds_per_pixel);
  return next;
}

double CanvasScene::top_showing(const QRectF& strip, bool pinned) const {
  const QRectF room = room_of(pinned);
  const bool seen = strip.top() >= room.top() - 1 && strip.bottom() <= room.bottom() + 1;
  const bool stays = pinned && kept_height() > 0;
  if (seen || stays || strip.isNull()) return view().top;
  return clamped_top(view().top + strip.center().y() - room.center().y());
}

QString CanvasScene::text_at(QPointF point) const {
  const LaneRow* const row =
      first_ == nullptr || point.x() < gutter || point.y() < header ? nullptr : row_at(point.y());
  if (row == nullptr) return {};
  const std::int64_t time = view().axis.time_at(point.x() - gutter);
  const ShownOp op = task_at(point);
  if (!op.is_none()) {
    const ViewedRun& of = *run(op.run).run;
    const Time length = of.timeline.end[op.task] - of.timeline.begin[op.task];
    if (static_cast<double>(length.picoseconds) >= view().axis.picoseconds_per_pixel) {
      return qt_text(op_text(of.plan, of.timeline, op.task, of_run(op.run).toStdString()));
    }
  }
  if (row->kind == LaneKind::link) return text_of_link(*this, *row, time);
  if (row->kind == LaneKind::memory) return text_of_memory(*this, *row, time);
  return text_of_rank(*this, row->rank, run_of(*row), time, !op.is_none());
}

void CanvasDrawing::draw(CanvasFrame& frame) {
  QElapsedTimer clock;
  clock.start();
  LaneScene scene;
  for (std::size_t r = 0; r < frame.runs.size(); ++r) scene.runs[r] = frame.runs[r].get();
  scene.rows = frame.rows;
  scene.top = -static_cast<int>(std::lround(frame.view.top * frame.ratio));
  scene.kept = frame.kept;
  scene.axis = frame.view.axis;
  scene.axis.picoseconds_per_pixel /= frame.ratio;
  scene.theme = frame.theme;
  scene.glyphs = frame.glyphs.get();
  scene.dimmed = frame.dims;
  scene.bright = frame.bright.tasks;
  scene.bright_run = frame.bright.run;
  if (frame.slack != nullptr) scene.slack = *frame.slack;
  const Pixels pixels{reinterpret_cast<std::uint32_t*>(frame.image.bits()), frame.image.width(),
                      frame.image.height(),
                      static_cast<std::size_t>(frame.image.bytesPerLine()) / 4};
  frame.counts = painter.draw(scene, pixels);
  frame.ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

CanvasFrames::CanvasFrames(const CanvasScene& scene)
    : scene_(scene), drawing_(std::make_shared<CanvasDrawing>()) {}

CanvasFrames::~CanvasFrames() {
  if (at_work_) QThreadPool::globalInstance()->waitForDone();
}

std::shared_ptr<CanvasFrame> CanvasFrames::made() const {
  auto frame = std::make_shared<CanvasFrame>();
  frame->runs = {scene_.first()};
  frame->runs.insert(frame->runs.end(), scene_.others().begin(), scene_.others().end());
  frame->rows = scene_.rows();
  frame->bright = scene_.bright();
  frame->dims = scene_.marked().dims;
  frame->slack = scene_.marked().slack;
  frame->theme = &scene_.colours();
  frame->glyphs = glyphs_;
  frame->view = scene_.view();
  frame->ratio = scene_.widget().devicePixelRatioF();
  frame->kept = static_cast<int>(std::lround(scene_.kept_height() * frame->ratio));
  frame->generation = scene_.generation();
  const int wide = static_cast<int>(std::lround(scene_.lanes_width() * frame->ratio));
  const int high = static_cast<int>(
      std::lround(std::max(1, scene_.widget().height() - CanvasScene::header) * frame->ratio));
  frame->image = QImage(wide, high, QImage::Format_RGB32);
  return frame;
}

bool CanvasFrames::fits(const CanvasFrame& frame) const {
  const QSize wanted(
      static_cast<int>(std::lround(scene_.lanes_width() * frame.ratio)),
      static_cast<int>(
          std::lround(std::max(1, scene_.widget().height() - CanvasScene::header) * frame.ratio)));
  return frame.generation == scene_.generation() && frame.view == scene_.view() &&
         frame.image.size() == wanted && frame.ratio == scene_.widget().devicePixelRatioF();
}

void CanvasFrames::want() {
  if (glyphs_ == nullptr || glyphs_ratio_ != scene_.widget().devicePixelRatioF()) {
    glyphs_ratio_ = scene_.widget().devicePixelRatioF();
    glyphs_ = std::make_shared<const Glyphs>(glyphs_of(scene_.widget().font(), glyphs_ratio_));
  }
  if (frame_ != nullptr && fits(*frame_)) return;
  if (at_work_) return;  // it asks again when it is done
  if (frame_ != nullptr && last_ms_ > frame_ms) return start_worker();
  auto frame = made();
  drawing_->draw(*frame);
  take(std::move(frame));
}

void CanvasFrames::start_worker() {
  at_work_ = true;
  const std::uint64_t job = ++job_;
  QThreadPool::globalInstance()->start(
      [frame = made(), drawing = drawing_, job, frames = QPointer<CanvasFrames>(this)]() mutable {
        drawing->draw(*frame);
        QMetaObject::invokeMethod(
            qApp,
            [frame, job, frames] {
              if (frames == nullptr || frames->job_ != job) return;
              frames->at_work_ = false;
              frames->take(frame);
              frames->on_drawn();
            },
            Qt::QueuedConnection);
      });
}

void CanvasFrames::take(std::shared_ptr<CanvasFrame> frame) {
  last_ms_ = frame->ms;
  frame_ = std::move(frame);
}

void CanvasFrames::finish() {
  QThreadPool::globalInstance()->waitForDone();
  ++job_;  // what has been drawn is taken no more
  at_work_ = false;
  last_ms_ = 0;
  want();
}

}  // namespace penstock
