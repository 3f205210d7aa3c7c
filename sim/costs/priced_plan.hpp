#pragma once

#include <cstdint>
#include <optional>

#include "sim/costs/costs.hpp"
#include "sim/costs/network.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Runtime conditions besides costs: what ranks share, and what delays them.
struct Conditions {
  Network network;

  std::optional<std::uint64_t> stall_above_bytes;  // actions wait for memory at this capacity

  double compute_slowdown = 1;   // of an action while a transfer of its rank is in flight
  double transfer_slowdown = 1;  // of a transfer while one of its ranks runs an action

  bool blocking_sends = false;  // a rank continues only after its sends have left
  bool rendezvous = false;      // a transfer starts only when its reader waits for it

  // Of a rank at a time; 0: unlimited.
  std::uint32_t sends_in_flight = 0;
  std::uint32_t receives_in_flight = 0;

  std::uint32_t most_in_flight(bool sends) const {
    return sends ? sends_in_flight : receives_in_flight;
  }
  bool limits_in_flight() const { return sends_in_flight != 0 || receives_in_flight != 0; }
};

/// A plan with its costs and conditions: the input of engines and backends, which return a timeline
/// or say why there is none.
struct PricedPlan {
  Plan plan;
  Costs costs;
  Conditions conditions = {};
};

}  // namespace penstock
