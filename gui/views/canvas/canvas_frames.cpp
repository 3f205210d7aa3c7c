#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>
#include <cmath>

#include "gui/views/canvas/canvas.hpp"
#include "gui/views/canvas/canvas_drawing.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr double frame_ms = 7;  // beyond this, a second thread draws

}  // namespace

std::shared_ptr<CanvasFrame> TimelineCanvas::new_frame() const {
  auto frame = std::make_shared<CanvasFrame>();
  frame->runs = {first_};
  frame->runs.insert(frame->runs.end(), others_.begin(), others_.end());
  frame->rows = rows();
  frame->bright = bright_;
  frame->dims = dims_;
  frame->slack = slack_;
  frame->theme = &theme(theme_);
  frame->glyphs = glyphs_;
  frame->view = view();
  frame->ratio = devicePixelRatioF();
  frame->kept = static_cast<int>(std::lround(kept_height() * frame->ratio));
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

}  // namespace penstock
