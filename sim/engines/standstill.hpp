#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Why a run, simulated or real, did not reach its end, or not the right one.
struct Standstill {
  std::string kind;          // "deadlock"; of a real run also "wrong_tensor", "transport" …
  std::optional<Rank> rank;  // where it was seen; nothing: on a link
  std::optional<Time> time;  // of the last thing that happened, where it was simulated
  std::string text;
};

/// What running a plan gives.
using RunOutcome = std::variant<Timeline, Standstill>;

/// A rank or link that can never go on.
struct Stuck {
  std::uint32_t resource;
  TaskId task;        // what it would do next
  std::string needs;  // what that waits for
};

/// Everybody waits for somebody else: "deadlock: at 12 us 1F0 waits for 0SEND_F0; 0SEND_F0 waits
/// for memory of rank 1". There must be somebody.
Standstill deadlock_at(Time time, const Plan& plan, const std::vector<Stuck>& stuck);

}  // namespace penstock
