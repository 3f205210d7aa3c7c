#include "validate/machine/clock.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <thread>

#include "validate/machine/busy_kernel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

}  // namespace

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * ns_per_s + now.tv_nsec;
}

void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void sleep_until(std::int64_t at_ns) {
  const timespec at{at_ns / ns_per_s, at_ns % ns_per_s};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

void sleep_exactly() { prctl(PR_SET_TIMERSLACK, 1000UL); }

std::int64_t StartLine::cross() {
  constexpr std::int64_t patience_ns = 10 * ns_per_s;
  const std::uint32_t run = runs_.load();
  if (there_.fetch_add(1) + 1 == ranks_) {
    there_.store(0);
    begin_ns_.store(monotonic_ns() + lead_ns_);
    runs_.store(run + 1);
    return begin_ns_.load();
  }
  const std::int64_t give_up_ns = monotonic_ns() + patience_ns;
  for (std::uint32_t rounds = 1; runs_.load() == run; ++rounds) {
    spin_pause();
    if (rounds % 1024 != 0) continue;
    std::this_thread::yield();  // there may be more ranks than cores
    if (monotonic_ns() > give_up_ns) throw std::runtime_error("not all ranks started");
  }
  return begin_ns_.load();
}

WorkClock::Moment WorkClock::read() {
  Moment moment{};
  moment.before_ns = monotonic_ns();
  moment.cpu_ns = thread_cpu_ns();
  moment.after_ns = monotonic_ns();
  return moment;
}

double WorkClock::lap_ns() {
  const Moment now = read();
  const std::int64_t elapsed_ns = now.before_ns - since_.after_ns;
  const std::int64_t cpu_ns = now.cpu_ns - since_.cpu_ns;
  since_ = now;
  return static_cast<double>(std::max<std::int64_t>(0, std::min(elapsed_ns, cpu_ns)));
}

}  // namespace penstock
