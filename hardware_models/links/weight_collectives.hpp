#pragma once

#include <optional>

#include "hardware_models/spec/hardware_spec.hpp"

namespace penstock {

/// What those who hold the same weights take on machines for their collectives: by the algorithm
/// that the scenario names for a kind, else by the quickest, over the links that machines have.
class WeightCollectives {
 public:
  /// Of hardware that knows nothing of them.
  WeightCollectives() = default;
  /// Knows nothing either where the spec has no machine with links, or wires them by itself.
  explicit WeightCollectives(const HardwareSpec& spec);

  /// The latencies are those that the collective would take without bytes; the rest occupies the
  /// way. Both add up to the formula.
  std::optional<TransferTime> time(CollectiveKind kind, double bytes, const Holders& holders) const;

 private:
  std::optional<HardwareSpec> spec_;
};

}  // namespace penstock
