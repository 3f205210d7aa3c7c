#include "gui/views/canvas/canvas_frames.hpp"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>
#include <cmath>

#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr double frame_ms = 7;  // beyond this, a second thread draws

}  // namespace

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
