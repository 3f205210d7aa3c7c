#include "gui/views/canvas/background.hpp"

#include <QCoreApplication>

namespace penstock {

Background::~Background() { pool_.waitForDone(); }

void Background::request(Work work, int wait_ms) {
  if (running_) {
    waiting_ = std::move(work);
  } else {
    start(std::move(work), wait_ms);
  }
}

void Background::start(Work work, int wait_ms) {
  running_ = true;
  tell(true);
  const std::uint64_t number = ++number_;
  pool_.start([this, work = std::move(work), number] {
    QMetaObject::invokeMethod(
        this, [this, done = work(), number] { ended(number, done); }, Qt::QueuedConnection);
  });
  if (wait_ms > 0 && pool_.waitForDone(wait_ms)) {
    QCoreApplication::sendPostedEvents(this, QEvent::MetaCall);
  }
}

void Background::ended(std::uint64_t number, const Done& done) {
  running_ = false;
  if (number == number_) done();
  if (!running_ && waiting_) start(std::exchange(waiting_, {}), 0);
  tell(running_);
}

void Background::tell(bool busy) {
  if (std::exchange(told_, busy) != busy) on_busy_(busy);
}

void Background::cancel() {
  ++number_;
  waiting_ = {};
}

void Background::finish() {
  while (running_) {
    pool_.waitForDone();
    // No other events: they could open or close what is waited for.
    QCoreApplication::sendPostedEvents(this, QEvent::MetaCall);
  }
}

}  // namespace penstock
