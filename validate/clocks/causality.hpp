#pragma once

#include <cstdint>

namespace penstock {

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
