#pragma once

#include <algorithm>
#include <cstdint>

#include "validate/job/recorder.hpp"
#include "validate/machine/busy_kernel.hpp"
#include "validate/machine/quiet.hpp"
#include "validate/machine/wall_clock.hpp"

namespace penstock {

/// The clocks that a rank's thread may run by. Each knows when its rank is free, in nanoseconds
/// since the run began on all of them:
///
///   start()               the run begins; called in the thread of the rank, as all below
///   now_ns()              when the rank is free
///   await(arrival_ns)     goes on once a tensor is there that arrives then
///   time(asked_ns, work)  does the work of an action that is asked to take so long, says when
///   finish()              the rank is through

/// An action takes what its thread was busy, however often others had the core meanwhile, and
/// tensors come at the logical time that their sender wrote on them.
class LogicalClock {
 public:
  void start() { now_ns_ = 0; }
  std::int64_t now_ns() const { return now_ns_; }
  void await(std::int64_t arrival_ns) { now_ns_ = std::max(now_ns_, arrival_ns); }
  void finish() {}

  template <class Work>
  Span time(std::int64_t, const Work& work) {
    const std::int64_t busy_before = thread_cpu_ns();
    work();
    const std::int64_t begin_ns = now_ns_;
    now_ns_ += thread_cpu_ns() - busy_before;
    return {begin_ns, now_ns_};
  }

 private:
  std::int64_t now_ns_ = 0;
};

/// Real time, on a core of the rank's own: waits spin, an action takes what passes until its work
/// is done, and begins when its rank really comes to it.
class SpinningClock {
 public:
  /// The line must outlive it.
  SpinningClock(StartLine& line, int core) : line_(&line), core_(core) {}

  void start();
  std::int64_t now_ns() const { return free_ns_; }
  void await(std::int64_t arrival_ns) const {
    while (elapsed_ns() < arrival_ns) spin_pause();
  }
  void finish();
  /// What the thread saw between `start` and `finish`.
  const ThreadReadings& readings() const { return readings_; }

  template <class Work>
  Span time(std::int64_t, const Work& work) {
    const std::int64_t begin_ns = elapsed_ns();
    work();
    free_ns_ = elapsed_ns();
    return {begin_ns, free_ns_};
  }

 private:
  std::int64_t elapsed_ns() const { return monotonic_ns() - begin_ns_; }

  StartLine* line_;
  int core_;
  std::int64_t begin_ns_ = 0;
  std::int64_t free_ns_ = 0;
  ThreadReadings readings_;
};

/// Real time without cores: instead of its work, an action sleeps until it is over. It begins when
/// the action before it was over, by this clock, and the last of its tensors was there, by the time
/// on it; that its thread is woken a little later makes it no later, as long as it can still sleep.
/// It is over when its thread runs again, so that being woken costs what it costs.
class SleepingClock {
 public:
  /// The line must outlive it.
  explicit SleepingClock(StartLine& line) : line_(&line) {}

  void start();
  std::int64_t now_ns() const { return ready_ns_; }
  void await(std::int64_t arrival_ns) { ready_ns_ = std::max(ready_ns_, arrival_ns); }
  void finish();
  /// What the thread saw between `start` and `finish`, but no canaries.
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
