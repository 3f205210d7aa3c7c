#pragma once

#include <optional>

#include "sim/model_graph.hpp"
#include "sim/network.hpp"
#include "sim/numbers.hpp"
#include "sim/plan.hpp"
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
  /// A tensor that travels alone. The ends may be `host_memory` or `data_replicas`.
  virtual TransferTime transfer(double bytes, Rank from, Rank to) const = 0;

  /// Dense peak of one device for matrix products in the precision of the model, a second; nothing
  /// where the hardware is not known by one.
  virtual std::optional<double> peak_flops() const { return std::nullopt; }

  /// The physical links that transfers share and how; without any, each ordered pair of ranks has
  /// a link of its own. `routes` stays empty: `route` tells them.
  virtual Network network() const { return {}; }
  /// The physical links that lead from one end to the other, in order. Throws
  /// InputError where none do.
  virtual Route route(const Link& /*link*/) const { return {}; }
};

}  // namespace penstock
