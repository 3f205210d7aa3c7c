#pragma once

#include <optional>
#include <span>

#include "sim/base/numbers.hpp"
#include "sim/costs/network.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/work.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// How long a transfer holds its link, and how much later it arrives. Both in microseconds.
struct TransferTime {
  double occupies_us = 0;
  double latency_us = 0;
};

/// The devices that hold the same weights: of each of these ranks so many devices of its group, in
/// each data replica.
struct Holders {
  double copies = 1;  // in the group of a rank
  double data = 1;
  std::span<const Rank> ranks;  // ascending

  double count() const { return copies * data * static_cast<double>(ranks.size()); }
};

/// What work costs on some hardware. Times are returned unrounded; `price` rounds each sum once.
class HardwareModel {
 public:
  virtual ~HardwareModel() = default;

  /// How long one pass over one layer takes; nothing when the model does not say enough to tell.
  virtual std::optional<double> compute_us(const Layer& layer, Pass pass) const = 0;
  /// A tensor that travels alone. The ends may be `host_memory` or `data_replicas`.
  virtual TransferTime transfer(double bytes, Rank from, Rank to) const = 0;
  /// What those who hold the same weights do together, where nothing else goes on; `bytes` are
  /// those of the whole tensor. Nothing where no more is known of them than the way from a rank to
  /// the next: then a ring goes there.
  virtual std::optional<TransferTime> collective(CollectiveKind /*kind*/, double /*bytes*/,
                                                 const Holders& /*holders*/) const {
    return std::nullopt;
  }

  /// What one device can do at most, dense, in the precision that it runs in; nothing where that is
  /// not known.
  virtual std::optional<double> peak_flops() const { return std::nullopt; }

  /// The physical links that transfers share and how; without any, each ordered pair of ranks has
  /// a link of its own. `routes` stays empty: `route` tells them.
  virtual Network network() const { return {}; }
  /// The physical links that lead from one end to the other, in order. Throws
  /// InputError where none do.
  virtual Route route(const Link& /*link*/) const { return {}; }
};

}  // namespace penstock
