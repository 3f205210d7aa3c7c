#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The evidence in a trace about boundaries between ops.
struct PartingFacts {
  bool threads_known = false;  // every kernel has a known launching thread
  bool sends_named = false;    // sends can be identified
};

/// Consecutive actions of a rank that only messages from other ranks, or of unknown direction,
/// separate. Such messages may arrive too early to be seen, or while an op pauses.
struct ActionGroup {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Forwards run on one thread, all other passes on another.
constexpr bool is_forward(const Action& action) { return action.pass == Pass::forward; }

/// The actions of a rank, split where any trace with these facts shows a message to another rank or
/// a change of threads. Throws InputError if two consecutive actions have neither these nor any
/// message between them.
std::vector<ActionGroup> action_groups(const Schedule& schedule, const Placement& placement,
                                       Rank rank, PartingFacts facts);

}  // namespace penstock
