#include "validate/machine/work_clock.hpp"

#include <algorithm>

#include "validate/machine/busy_kernel.hpp"
#include "validate/machine/wall_clock.hpp"

namespace penstock {

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
