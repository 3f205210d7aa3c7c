#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// One question to another clock: own readings when it was asked and answered, and the other's
/// reading in between. In nanoseconds, like all clocks here.
struct ClockSample {
  std::int64_t asked_ns = 0;
  std::int64_t read_ns = 0;
  std::int64_t answered_ns = 0;
};

/// The other clock showed `read_ns` when the own one showed `own_ns`, at most `uncertainty_ns` off.
struct ClockAnchor {
  std::int64_t read_ns = 0;
  std::int64_t own_ns = 0;
  double uncertainty_ns = 0;
};

/// Compares two clocks by Cristian's method: of the tenth of the samples with the shortest round
/// trips, one at least, the means. A reading is somewhere in its round trip, so half the mean round
/// trip bounds the error, whatever the delays each way; a constant drift changes nothing. There
/// must be a sample.
ClockAnchor anchor_of(std::vector<ClockSample> samples);

}  // namespace penstock
