#include "validate/ranks/rank_clocks.hpp"

#include "validate/machine/host.hpp"

namespace penstock {

void SpinningClock::start() {
  stay_on(core_);
  readings_.canary_before_ns = canary_ns();
  begin_ns_ = line_->cross();
  readings_.preemptions = involuntary_switches();
  free_ns_ = 0;
  await({});
}

void SpinningClock::finish() {
  readings_.preemptions = involuntary_switches() - readings_.preemptions;
  readings_.canary_after_ns = canary_ns();
}

void SleepingClock::start() {
  sleep_exactly();
  begin_ns_ = line_->cross();
  readings_.preemptions = involuntary_switches();
  ready_ns_ = 0;
  sleep_until(begin_ns_);
}

void SleepingClock::finish() {
  readings_.preemptions = involuntary_switches() - readings_.preemptions;
}

Span SleepingClock::sleep(std::int64_t asked_ns) {
  const std::int64_t begin_ns = ready_ns_;
  sleep_until(begin_ns_ + begin_ns + asked_ns);
  ready_ns_ = monotonic_ns() - begin_ns_;
  return {from_ns(begin_ns), from_ns(ready_ns_)};
}

}  // namespace penstock
