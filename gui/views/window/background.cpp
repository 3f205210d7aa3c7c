#include "gui/views/window/background.hpp"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <utility>

namespace penstock {

Background::~Background() { pool_.waitForDone(); }

void Background::request(Work work, double at_once_below_ms) {
  if (!running_ && last_ms_ < at_once_below_ms) {
    QElapsedTimer clock;
    clock.start();
    const Done done = work();
    done();
    last_ms_ = static_cast<double>(clock.nsecsElapsed()) / 1e6;
  } else if (running_) {
    waiting_ = std::move(work);
  } else {
    start(std::move(work));
  }
}

void Background::start(Work work) {
  running_ = true;
  const std::uint64_t number = ++number_;
  pool_.start([this, work = std::move(work), number] {
    QElapsedTimer clock;
    clock.start();
    Done done = work();
    const double ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
    QMetaObject::invokeMethod(
        this, [this, done = std::move(done), number, ms] { ended(number, ms, done); },
        Qt::QueuedConnection);
  });
}

void Background::ended(std::uint64_t number, double ms, const Done& done) {
  running_ = false;
  last_ms_ = ms;
  if (number == number_) done();
  if (!running_ && waiting_) start(std::exchange(waiting_, {}));
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
