#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "validate/backends/multi/rank_run.hpp"

namespace penstock::testing {
namespace {

/// Another clock: what it shows at a moment of the own one.
struct SyntheticClock {
  double offset_ns;
  double drift;
  std::int64_t read(double own_ns) const {
    return std::llround(own_ns + offset_ns + drift * own_ns);
  }
};

/// How long a question and its answer take, and which share of that the question takes.
struct Delays {
  double tail_ns;  // exponential, beside 4 us
  double share;
};

std::vector<ClockSample> asked(const SyntheticClock& clock, double own_ns, const Delays& delays,
                               std::mt19937_64& random) {
  std::exponential_distribution<double> more(1 / delays.tail_ns);
  std::vector<ClockSample> samples;
  for (int i = 0; i < 100; ++i) {
    const double trip = 4'000 + more(random);
    const double back = own_ns + trip;
    samples.push_back(
        {std::llround(own_ns), clock.read(own_ns + delays.share * trip), std::llround(back)});
    own_ns = back + 1'000;
  }
  return samples;
}

/// The largest error of an aligned clock between its anchors.
double worst_error(const SyntheticClock& clock, const AlignedClock& aligned) {
  double worst = 0;
  for (int i = 0; i <= 100; ++i) {
    const double own = static_cast<double>(aligned.begin.own_ns) +
                       i / 100.0 * static_cast<double>(aligned.end.own_ns - aligned.begin.own_ns);
    const double found = static_cast<double>(aligned.own_ns(clock.read(own)));
    worst = std::max(worst, std::abs(found - own));
  }
  return worst;
}

}  // namespace

// Round trips of 10, 4 and 8 ns: the shortest is a tenth of three samples, rounded up. Its middle
// is at 102 + 2 = 104 on the own clock, where the other showed 5000.
TEST_CASE("clocks: the shortest round trip says how clocks are apart, within half of itself") {
  const ClockAnchor anchor = anchor_of({{80, 4000, 90}, {102, 5000, 106}, {120, 6000, 128}});
  CHECK(anchor.read_ns == 5000);
  CHECK(anchor.own_ns == 104);
  CHECK(anchor.uncertainty_ns == 2);
}

// Offsets as of GPU clocks, which count nanoseconds since 1970; drifts to 100 us per second.
TEST_CASE("clocks: the stated uncertainty covers offset, drift and uneven delays") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> drift(-1e-4, 1e-4), offset(-1e15, 1e15), share(0, 1);
  double uncertainties = 0, errors = 0;
  for (int draw = 0; draw < 500; ++draw) {
    const SyntheticClock clock{offset(random), drift(random)};
    const Delays delays{draw % 2 == 0 ? 500.0 : 50'000.0, share(random)};
    const AlignedClock aligned{anchor_of(asked(clock, 1e9, delays, random)),
                               anchor_of(asked(clock, 1.2e9, delays, random))};
    const double error = worst_error(clock, aligned);
    CHECK(error <= aligned.uncertainty_ns() + 2);  // rounding to whole nanoseconds
    const double most = (aligned.begin.uncertainty_ns + aligned.end.uncertainty_ns) / 2e8;
    CHECK(std::abs(aligned.drift() + clock.drift) <= most + 2e-8);  // and drift squared
    uncertainties += aligned.uncertainty_ns();
    errors += error;
  }
  CHECK(errors > 0.3 * uncertainties);  // not covered by being useless
}

TEST_CASE("clocks: nanoseconds since 1970 are not rounded") {
  const std::int64_t since_1970 = 1'763'000'000'123'456'789;
  const ClockAnchor begin = anchor_of({{1'000, since_1970, 1'010}});
  const ClockAnchor end = anchor_of({{2'000, since_1970 + 1'000, 2'010}});
  const AlignedClock clock{begin, end};
  CHECK(clock.own_ns(since_1970) == 1'005);
  CHECK(clock.own_ns(since_1970 + 1) == 1'006);
  CHECK(clock.own_ns(since_1970 + 1'000) == 2'005);
}

TEST_CASE("clocks: without anchors both clocks are one") {
  const AlignedClock same;
  CHECK(same.own_ns(123'456'789) == 123'456'789);
  CHECK(same.uncertainty_ns() == 0);
  CHECK(same.drift() == 0);
}

TEST_CASE("clocks: tensors that arrive before they were sent are counted") {
  Causality seen;
  seen.add(100, 150, 20);
  seen.add(100, 95, 20);  // within the uncertainty
  seen.add(100, 60, 30);  // beyond it
  CHECK(seen.tensors == 3);
  CHECK(seen.violations == 2);
  CHECK(seen.unexplained == 1);
  CHECK(seen.worst_ns == 40);
  CHECK(seen.worst_uncertainty_ns == 30);
}

}  // namespace penstock::testing
