#include "validate/backends/multi/aligned_clock.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr std::size_t one_of = 10;

std::int64_t round_trip_ns(const ClockSample& sample) {
  return sample.answered_ns - sample.asked_ns;
}

}  // namespace

ClockAnchor anchor_of(std::vector<ClockSample> samples) {
  const std::size_t kept = (samples.size() + one_of - 1) / one_of;
  const auto end = samples.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(samples.begin(), end, samples.end(), [](const auto& a, const auto& b) {
    return round_trip_ns(a) < round_trip_ns(b);
  });
  // Relative to the first: a double does not hold the nanoseconds since 1970.
  const ClockSample first = samples.front();
  double read = 0, own = 0, trips = 0;
  for (auto sample = samples.begin(); sample != end; ++sample) {
    read += static_cast<double>(sample->read_ns - first.read_ns);
    own += static_cast<double>(sample->asked_ns - first.asked_ns) +
           static_cast<double>(round_trip_ns(*sample)) / 2;
    trips += static_cast<double>(round_trip_ns(*sample));
  }
  const auto count = static_cast<double>(kept);
  return {first.read_ns + std::llround(read / count), first.asked_ns + std::llround(own / count),
          trips / count / 2};
}

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

void Causality::add(std::int64_t sent_ns, std::int64_t arrived_ns, double uncertainty_ns) {
  ++tensors;
  worst_uncertainty_ns = std::max(worst_uncertainty_ns, uncertainty_ns);
  const std::int64_t before = sent_ns - arrived_ns;
  if (before <= 0) return;
  ++violations;
  worst_ns = std::max(worst_ns, before);
  if (static_cast<double>(before) > uncertainty_ns) ++unexplained;
}

}  // namespace penstock
