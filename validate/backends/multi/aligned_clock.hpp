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

/// Readings of another clock on one's own: a straight line through two anchors. Between them the
/// error is at most the larger of theirs. Without anchors both clocks are the same.
struct AlignedClock {
  ClockAnchor begin;
  ClockAnchor end;

  std::int64_t own_ns(std::int64_t read_ns) const;
  /// Of readings between the anchors.
  double uncertainty_ns() const;
  /// How much faster the own clock runs: 1e-6 is a microsecond per second.
  double drift() const;
};

/// Checks aligned clocks by what they time: no tensor arrives before it was sent.
struct Causality {
  std::uint32_t tensors = 0;
  std::uint32_t violations = 0;     // arrived before they were sent
  std::uint32_t unexplained = 0;    // by more than the clocks' uncertainty
  std::int64_t worst_ns = 0;        // how much before
  double worst_uncertainty_ns = 0;  // of the clocks of two ends together

  void add(std::int64_t sent_ns, std::int64_t arrived_ns, double uncertainty_ns);
};

}  // namespace penstock
