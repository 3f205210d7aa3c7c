#pragma once

#include <optional>

#include "sim/model_graph.hpp"
#include "sim/numbers.hpp"
#include "sim/schedule.hpp"

namespace penstock {

/// How long a transfer holds its link, and how much later it arrives. Both in microseconds.
struct TransferTime {
  double occupies_us = 0;
  double latency_us = 0;
};

/// What work costs on some hardware. Times are returned unrounded; `price` rounds each sum once.
class HardwareModel {
 public:
  virtual ~HardwareModel() = default;

  /// How long one pass over one layer takes; nothing when the model does not say enough to tell.
  virtual std::optional<double> compute_us(const Layer& layer, Pass pass) const = 0;
  virtual TransferTime transfer(double bytes, Rank from, Rank to) const = 0;
};

}  // namespace penstock
