#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

class CommRows;

/// A cell of a row: an action, or communication.
using RowCell = std::variant<Action, CommCell>;
std::string text(const RowCell& cell);

/// One edge of a deadlock: `cell` of `rank` cannot start before `needs` of `needs_rank`.
struct Wait {
  Rank rank;
  RowCell cell;
  RowCell needs;
  Rank needs_rank;
};

/// An order that cannot finish: each entry waits for something after the next entry's cell, and
/// the last for something after the first's.
struct Deadlock {
  std::vector<Wait> circle;
};

/// "deadlock: 1F0 of rank 1 waits for 0F0 of rank 0, which follows 0B0; 0B0 of rank 0 waits …".
std::string text(const Deadlock& deadlock);

/// The deadlock of an order in which no rank can go on. `stopped` holds for each rank the cell
/// that lacks its input, nothing for a rank that has finished; one rank at least has not. `comms`:
/// null, or the order's communication. Throws InputError if nothing produces an input.
Deadlock find_deadlock(const Schedule& schedule, const Placement& placement,
                       const std::vector<std::optional<RowCell>>& stopped, const CommRows* comms);

/// Turns an order into a plan: adds transfers and extras, numbers the tasks topologically, names
/// classes. An added R is placed directly before its B or I and waits for the same gradient, or
/// only for its rank if early; in an overlap cell it is part of the B or I, or, if early, precedes
/// the cell. An R of the order waits only for its rank. Where the extras say how tensors are sent
/// and received, every tensor that crosses ranks needs one SEND behind the action that makes it and
/// one RECV in front of those that read it.
///
/// The order must have no faults (`find_order_fault`), but its first stages may have no backwards
/// at all; no gradient is sent to them. Returns the deadlock when ranks wait for each other. Takes
/// O(actions) time.
std::variant<Plan, Deadlock> lower(const Schedule& schedule, const Placement& placement,
                                   Overlap overlap = Overlap::serial, const Extras& extras = {});

}  // namespace penstock
