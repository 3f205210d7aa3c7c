#include "validate/clocks/aligned_clock.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {

double AlignedClock::drift() const {
  const std::int64_t read = end.read_ns - begin.read_ns;
  if (read <= 0) return 0;
  return static_cast<double>(end.own_ns - begin.own_ns - read) / static_cast<double>(read);
}

std::int64_t AlignedClock::own_ns(std::int64_t read_ns) const {
  const std::int64_t since = read_ns - begin.read_ns;
  return begin.own_ns + since + std::llround(static_cast<double>(since) * drift());
}

double AlignedClock::uncertainty_ns() const {
  return std::max(begin.uncertainty_ns, end.uncertainty_ns);
}

}  // namespace penstock
