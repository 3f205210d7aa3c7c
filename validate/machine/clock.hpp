#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

/// The clock shared by all threads and processes of a computer, in nanoseconds.
std::int64_t monotonic_ns();

/// Hints to the core that it is spinning.
void spin_pause();

/// Sleeps until the monotonic clock reaches `at_ns`.
void sleep_until(std::int64_t at_ns);

/// Makes the kernel wake this thread within a microsecond, not batched with other sleepers.
void sleep_exactly();

/// A barrier before a run, so that all ranks start at one time.
class StartLine {
 public:
  /// The run starts `lead_ns` after the last arrival.
  StartLine(std::uint32_t ranks, std::int64_t lead_ns) : ranks_(ranks), lead_ns_(lead_ns) {}

  /// Waits for all others; returns when the run starts, by the monotonic clock. Throws
  /// std::runtime_error when a thread is missing.
  std::int64_t cross();

 private:
  std::uint32_t ranks_;
  std::int64_t lead_ns_;
  std::atomic<std::uint32_t> there_ = 0;
  std::atomic<std::uint32_t> runs_ = 0;
  std::atomic<std::int64_t> begin_ns_ = 0;
};

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
