#pragma once

#include <cstdint>

namespace penstock {

/// The time that work of this thread takes, for work down to a microsecond.
///
/// Reading the CPU clock is a system call, of a duration that varies; the clock of the computer is
/// finer, but counts while others have the core. Both are read, and the lesser time counts: neither
/// is less than the work, and without an interruption the finer one is closer.
class WorkClock {
 public:
  WorkClock() { start(); }

  void start() { since_ = read(); }
  /// Nanoseconds of work since the start, or since the last lap. Readings do not count.
  double lap_ns();

 private:
  struct Moment {
    std::int64_t before_ns;  // by the clock of the computer, around the reading of the other
    std::int64_t cpu_ns;
    std::int64_t after_ns;
  };
  static Moment read();

  Moment since_;
};

}  // namespace penstock
