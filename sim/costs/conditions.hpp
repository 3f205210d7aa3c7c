#pragma once

#include <cstdint>
#include <optional>

#include "sim/costs/network.hpp"

namespace penstock {

/// What a run meets with besides the costs of its plan: what ranks share and what holds them up.
struct Conditions {
  Network network;

  std::optional<std::uint64_t> stall_above_bytes;  // actions wait for memory at this capacity

  double compute_slowdown = 1;   // of an action while a transfer of its rank is in flight
  double transfer_slowdown = 1;  // of a transfer while one of its ranks runs an action

  bool blocking_sends = false;  // a rank goes on only when what it sends has left
  bool rendezvous = false;      // a transfer starts only when its reader waits for it
  std::uint32_t in_flight = 0;  // transfers that a rank sends, or receives, at a time; 0: any
};

}  // namespace penstock
