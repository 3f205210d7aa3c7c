#pragma once

#include <optional>

#include "hardware_models/spec/hardware_spec.hpp"

namespace penstock {

/// The time of collectives among holders of the same weights, over the machine's links: with the
/// algorithm named in the scenario, otherwise the fastest.
class WeightCollectives {
 public:
  /// For hardware without known links.
  WeightCollectives() = default;
  /// Has no times either when the spec has no machine with links or wires its own.
  explicit WeightCollectives(const HardwareSpec& spec);

  /// Latency is the time of the collective without bytes; the rest occupies the links. Together
  /// they equal the formula.
  std::optional<TransferTime> time(CollectiveKind kind, double bytes, const Holders& holders) const;

 private:
  std::optional<HardwareSpec> spec_;
};

}  // namespace penstock
