#include "gui/views/canvas/canvas_scene.hpp"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/views/canvas/background.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/base/time.hpp"

namespace penstock {
namespace {

constexpr double frame_ms = 7;  // beyond this, a second thread draws

}  // namespace

const std::vector<LaneRow>& CanvasScene::rows() const {
  CanvasView seen = view();
  seen.top = 0;
  seen.axis.origin = 0;  // neither of them moves a row
  const std::tuple key(seen, widget_.height(), widget_.devicePixelRatioF());
  if (rows_generation_ != generation_ || rows_key_ != key || !(rows_choice_ == choice_)) {
    rows_ = lane_rows(choice_in(view()), lane_height());
    rows_generation_ = generation_;
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
  const LaneRow* const row = row_with(rows(), kind, rank, run);
  return row == nullptr ? QRectF() : place_of(*row);
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

const RankSummary* CanvasScene::facts_of(const LaneRow& row) const {
  const std::vector<RankSummary>& facts = *run(row.run).facts;
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

const LaneRow* CanvasScene::strip_at(QPointF point) const {
  if (first_ == nullptr || point.x() < gutter || point.y() < header) return nullptr;
  const LaneRow* const row = row_at(point.y());
  // The line below a strip belongs to it, but not to its ops.
  if (row == nullptr || point.y() >= place_of(*row).bottom() + 1) return nullptr;
  return row;
}

ShownOp CanvasScene::task_at(QPointF point) const {
  const LaneRow* const row = strip_at(point);
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
  const std::int64_t room = (max_time.picoseconds - std::max(end, span())) / 2;  // of the clock
  const std::int64_t margin = std::min((end - begin) / 20 + 1, room);
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

std::optional<Area> CanvasScene::idle_at(QPointF point) const {
  const LaneRow* const row = strip_at(point);
  if (row == nullptr || row->kind == LaneKind::link || row->kind == LaneKind::memory) return {};
  const std::uint8_t of = run_of(*row);
  const std::int64_t time = view().axis.time_at(point.x() - gutter);
  const auto piece = penstock::idle_at(*run(of).lanes, row->rank, time);
  const bool is_seen =
      piece && static_cast<double>(piece->end - piece->begin) >= view().axis.picoseconds_per_pixel;
  if (!is_seen || !task_at(point).is_none()) return {};
  return Area{piece->begin, piece->end, row->rank, row->rank + 1, of};
}

std::optional<Area> CanvasScene::memory_at(QPointF point) const {
  const LaneRow* const row = strip_at(point);
  if (row == nullptr || row->kind != LaneKind::memory) return {};
  const auto& memory = run(row->run).memory;
  if (memory == nullptr || row->rank >= memory->ranks.size()) return {};
  const HeldMemory* const step =
      memory->ranks[row->rank].at({view().axis.time_at(point.x() - gutter)});
  if (step == nullptr) return {};
  return area_of(*step, row->rank, row->run);
}

SeenRuns CanvasScene::seen() const {
  SeenRuns seen{.runs = {}, .frozen = choice_.frozen};
  for (std::size_t number = 0; number < runs(); ++number) seen.runs.push_back(&run(number));
  seen.origin = view().axis.origin;
  seen.pixel = view().axis.picoseconds_per_pixel;
  return seen;
}

std::vector<ShownOp> CanvasScene::in_other_runs(const ShownOp& op) const {
  std::vector<ShownOp> all;
  if (op.is_none() || runs() < 2) return all;
  const SeenRuns known = seen();
  for (std::uint8_t number = 0; number < runs(); ++number) {
    const ShownOp same = number == op.run ? ShownOp() : known.same_op(op, number);
    if (!same.is_none()) all.push_back(same);
  }
  return all;
}

Facts CanvasScene::facts_at(QPointF point, const SeenRuns& known) const {
  const LaneRow* const row = strip_at(point);
  if (row == nullptr) return {};
  return penstock::facts_at(known, *row, task_at(point), view().axis.time_at(point.x() - gutter));
}

std::u32string letters_of(const std::vector<PaintedRunPtr>& runs) {
  std::u32string letters;
  for (const PaintedRunPtr& run : runs) letters += run->letters;
  return letters;
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
  scene.marks = frame.marks;
  scene.dimmed = frame.dims;
  scene.bright = frame.bright.tasks;
  scene.bright_run = frame.bright.run;
  if (frame.slack != nullptr) scene.slack = *frame.slack;
  const Pixels pixels{reinterpret_cast<std::uint32_t*>(frame.image.bits()), frame.image.width(),
                      frame.image.height(),
                      static_cast<std::size_t>(frame.image.bytesPerLine()) / 4};
  painter.draw(scene, pixels);
  frame.ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

CanvasFrames::CanvasFrames(const CanvasScene& scene)
    : scene_(scene), drawing_(std::make_shared<CanvasDrawing>()) {}

CanvasFrames::~CanvasFrames() {
  if (at_work_) QThreadPool::globalInstance()->waitForDone();
}

QSize CanvasFrames::size_at(double ratio) const {
  const int high = std::max(1, scene_.widget().height() - CanvasScene::header);
  return {static_cast<int>(std::lround(scene_.lanes_width() * ratio)),
          static_cast<int>(std::lround(high * ratio))};
}

std::vector<PaintedRunPtr> CanvasFrames::runs() const {
  std::vector<PaintedRunPtr> all{scene_.first()};
  all.insert(all.end(), scene_.others().begin(), scene_.others().end());
  return all;
}

std::shared_ptr<CanvasFrame> CanvasFrames::made() const {
  auto frame = std::make_shared<CanvasFrame>();
  frame->runs = runs();
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
  frame->image = QImage(size_at(frame->ratio), QImage::Format_RGB32);
  return frame;
}

bool CanvasFrames::fits(const CanvasFrame& frame) const {
  return frame.generation == scene_.generation() && frame.view == scene_.view() &&
         frame.image.size() == size_at(frame.ratio) &&
         frame.ratio == scene_.widget().devicePixelRatioF();
}

void CanvasFrames::want() {
  const double ratio = scene_.widget().devicePixelRatioF();
  const std::u32string letters = letters_of(runs());
  if (glyphs_ == nullptr || glyphs_ratio_ != ratio || glyphs_letters_ != letters) {
    glyphs_ratio_ = ratio;
    glyphs_letters_ = letters;
    glyphs_ = std::make_shared<const Glyphs>(glyphs_of(scene_.widget().font(), ratio, letters));
  }
  if (frame_ != nullptr && fits(*frame_)) return;
  if (at_work_) return;  // it asks again when it is done
  if (frame_ != nullptr && may_take_long()) return start_worker();
  auto frame = made();
  drawing_->draw(*frame);
  take(std::move(frame));
}

/// Without pyramids, and with many ops marked, each op is drawn.
bool CanvasFrames::may_take_long() const {
  constexpr std::uint64_t many = 500'000;
  const bool each = scene_.first()->run->brief && scene_.first()->lanes->ops > many;
  return last_ms_ > frame_ms || each || scene_.bright().size() > many / 10;
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
  const bool other = frame_ != nullptr && frame_->runs != frame->runs;
  std::swap(frame_, frame);
  if (other) drop_later(std::move(frame));
}

void CanvasFrames::finish() {
  QThreadPool::globalInstance()->waitForDone();
  ++job_;  // what has been drawn is taken no more
  at_work_ = false;
  last_ms_ = 0;
  want();
}

}  // namespace penstock
