#pragma once

#include <cstddef>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// When the inputs of tasks were ready: for an action its inputs and the end of the action before
/// it on its rank, for a transfer only its inputs. The time from then to its begin is a wait for
/// the host, memory or its link.
struct Readiness {
  std::vector<Time> at;    // by task; at most its begin
  std::vector<TaskId> by;  // the last input, or no_task
};

/// `orders` are the actual orders on ranks and links.
Readiness readiness(const Plan& plan, const Timeline& timeline, const ResourceOrders& orders);

/// The number of tasks of the longest chain in which each one was the last input of the next.
std::size_t longest_chain(const Timeline& timeline, const Readiness& readiness);

/// The tasks of each rank and link by begin; ties in plan order.
ResourceOrders orders_by_time(const Plan& plan, const Timeline& timeline);

/// The absolute value of a time.
constexpr Time magnitude(Time time) { return time < Time{} ? Time{} - time : time; }

}  // namespace penstock
