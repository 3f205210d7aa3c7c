#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

/// The clock that all threads and processes of a computer share, in nanoseconds.
std::int64_t monotonic_ns();

/// Tells the core that it only waits, so that it does so with less of it.
void spin_pause();

/// Sleeps until the monotonic clock shows so much.
void sleep_until(std::int64_t at_ns);

/// Has the kernel wake this thread within a microsecond, rather than with others that sleep.
void sleep_exactly();

/// Where ranks meet before a run, so that it begins for all of them at one time.
class StartLine {
 public:
  /// The run begins so long after the last has come.
  StartLine(std::uint32_t ranks, std::int64_t lead_ns) : ranks_(ranks), lead_ns_(lead_ns) {}

  /// Waits for all others; says when the run begins, on the monotonic clock. Throws
  /// std::runtime_error when they do not come: a thread could not be started.
  std::int64_t cross();

 private:
  std::uint32_t ranks_;
  std::int64_t lead_ns_;
  std::atomic<std::uint32_t> there_ = 0;
  std::atomic<std::uint32_t> runs_ = 0;
  std::atomic<std::int64_t> begin_ns_ = 0;
};

}  // namespace penstock
