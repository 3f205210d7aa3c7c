#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What a trace tells of the moments between ops.
struct PartingFacts {
  bool threads_known = false;  // of each kernel, which thread launched it
  bool sends_named = false;    // messages to other ranks are known as such
};

/// Actions of a rank one behind the other that nothing but messages from other ranks part, or
/// messages of unknown direction: such may come too early to be seen, or while an op pauses.
struct ActionGroup {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Whether an action is a forward: these run on one thread, and all others on another.
constexpr bool is_forward(const Action& action) { return action.pass == Pass::forward; }

/// The actions of a rank, cut where a message to another rank or a change of threads will show in
/// any trace with these facts. Throws InputError where two actions in a row have neither these nor
/// any message between them.
std::vector<ActionGroup> action_groups(const Schedule& schedule, const Placement& placement,
                                       Rank rank, PartingFacts facts);

}  // namespace penstock
