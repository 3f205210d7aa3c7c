#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A rank or link that can never go on.
struct Stuck {
  std::uint32_t resource;
  TaskId task;        // what it would do next
  std::string needs;  // what that waits for
};

/// A run that came to a halt before its end: everybody waits for somebody else.
struct Standstill {
  Time time;  // of the last thing that happened
  std::vector<Stuck> stuck;
};

/// "deadlock: at 12 us 1F0 waits for 0SEND_F0; 0SEND_F0 waits for memory of rank 1".
std::string text(const Plan& plan, const Standstill& standstill);

/// Runs a plan event by event under conditions that `relax` knows nothing of: shared links, memory
/// that runs out, actions and transfers that slow each other down. Where both apply, the timelines
/// are equal to the byte. `timeline` is overwritten and its memory reused. Returns why the run
/// could not be finished, if it could not; the timeline is then without meaning.
std::optional<Standstill> run_events(const Plan& plan, const Costs& costs,
                                     const Conditions& conditions, Timeline& timeline);

/// Runs a plan with the engine that is right for it: `relax` where it can be, else the event
/// engine.
std::optional<Standstill> simulate(const Plan& plan, const Costs& costs,
                                   const Conditions& conditions, Timeline& timeline);

/// Makes a timeline in which nothing has begun or ended: both are -1 ps.
void prepare(const Plan& plan, Timeline& timeline);

/// Why `relax` would be wrong: a phrase that goes after "because". Nothing where it is right.
std::optional<std::string> why_not_relax(const Plan& plan, const Conditions& conditions);

}  // namespace penstock
