#pragma once

#include <algorithm>
#include <cstdint>

#include "validate/job/recorder.hpp"
#include "validate/machine/busy_kernel.hpp"
#include "validate/machine/clock.hpp"
#include "validate/machine/quiet.hpp"

namespace penstock {

/// Clocks for the thread of a rank. Each knows when its rank is free, since the start of the run:
///
///   start()               starts the run; in the thread of the rank, as all below
///   now()                 when the rank is free, and all that it has waited for is there
///   await(moment)         waits until then: for a tensor, or the launch of an action
///   time(asked_ns, work)  runs an action of this requested duration; returns when it ran
///   finish()              ends the run

/// An action takes the CPU time of its thread, however often it is preempted; tensors arrive at the
/// logical time that their sender wrote on them.
class LogicalClock {
 public:
  void start() { now_ = {}; }
  Time now() const { return now_; }
  void await(Time moment) { now_ = std::max(now_, moment); }
  void finish() {}

  template <class Work>
  Span time(std::int64_t, const Work& work) {
    const std::int64_t busy_before = thread_cpu_ns();
    work();
    const Time begin = now_;
    now_ += from_ns(thread_cpu_ns() - busy_before);
    return {begin, now_};
  }

 private:
  Time now_{};
};

/// Real time, on a core of its own: waits spin, an action lasts until its work is done and begins
/// when its rank reaches it.
class SpinningClock {
 public:
  /// The line must outlive it.
  SpinningClock(StartLine& line, int core) : line_(&line), core_(core) {}

  void start();
  Time now() const { return from_ns(free_ns_); }
  void await(Time moment) {
    while (elapsed_ns() < to_ns(moment)) spin_pause();
    free_ns_ = std::max(free_ns_, to_ns(moment));
  }
  void finish();
  /// Readings of the thread between `start` and `finish`.
  const ThreadReadings& readings() const { return readings_; }

  template <class Work>
  Span time(std::int64_t, const Work& work) {
    const std::int64_t begin_ns = elapsed_ns();
    work();
    free_ns_ = elapsed_ns();
    return {from_ns(begin_ns), from_ns(free_ns_)};
  }

 private:
  std::int64_t elapsed_ns() const { return monotonic_ns() - begin_ns_; }

  StartLine* line_;
  int core_;
  std::int64_t begin_ns_ = 0;
  std::int64_t free_ns_ = 0;
  ThreadReadings readings_;
};

/// Real time without cores: an action sleeps instead of working. It begins when the previous action
/// has ended and its last tensor has arrived, by their stamps; a late wake-up does not delay it
/// while it can still sleep. It ends when its thread runs again, so wake-up latency counts.
class SleepingClock {
 public:
  /// The line must outlive it.
  explicit SleepingClock(StartLine& line) : line_(&line) {}

  void start();
  Time now() const { return from_ns(ready_ns_); }
  void await(Time moment) { ready_ns_ = std::max(ready_ns_, to_ns(moment)); }
  void finish();
  /// Readings of the thread between `start` and `finish`, without canaries.
  const ThreadReadings& readings() const { return readings_; }

  template <class Work>
  Span time(std::int64_t asked_ns, const Work&) {
    return sleep(asked_ns);
  }

 private:
  Span sleep(std::int64_t asked_ns);

  StartLine* line_;
  std::int64_t begin_ns_ = 0;
  std::int64_t ready_ns_ = 0;
  ThreadReadings readings_;
};

}  // namespace penstock
