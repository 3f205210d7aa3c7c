#pragma once

#include <cstdint>
#include <optional>

#include "sim/costs/network.hpp"

namespace penstock {

/// Runtime conditions besides costs: what ranks share, and what delays them.
struct Conditions {
  Network network;

  std::optional<std::uint64_t> stall_above_bytes;  // actions wait for memory at this capacity

  double compute_slowdown = 1;   // of an action while a transfer of its rank is in flight
  double transfer_slowdown = 1;  // of a transfer while one of its ranks runs an action

  bool blocking_sends = false;  // a rank continues only after its sends have left
  bool rendezvous = false;      // a transfer starts only when its reader waits for it
  std::uint32_t in_flight = 0;  // concurrent sends, and receives, of a rank; 0: unlimited
};

}  // namespace penstock
