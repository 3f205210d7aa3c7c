#pragma once

#include <cstdint>

#include "validate/clocks/clock_anchor.hpp"

namespace penstock {

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

}  // namespace penstock
