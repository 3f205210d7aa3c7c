#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Why a run, simulated or real, did not finish correctly.
struct Standstill {
  std::string kind;          // "deadlock"; of a real run also "wrong_tensor", "transport" …
  std::optional<Rank> rank;  // where it was noticed; nothing: on a link
  std::optional<Time> time;  // of the last event, if simulated
  std::string text;
};

/// The outcome of a run.
using RunOutcome = std::variant<Timeline, Standstill>;

/// A rank or link that cannot continue.
struct Stuck {
  std::uint32_t resource;
  TaskId task;        // its next task
  std::string needs;  // what that waits for
};

/// A deadlock: "deadlock: at 12 µs 1F0 waits for 0SEND_F0; 0SEND_F0 waits for memory of rank 1".
/// `stuck` must not be empty.
Standstill deadlock_at(Time time, const Plan& plan, const std::vector<Stuck>& stuck);

}  // namespace penstock
