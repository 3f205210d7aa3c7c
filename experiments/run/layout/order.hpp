#pragma once

#include <cstdint>
#include <string>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/degrees.hpp"
#include "schedules/policies/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Which action runs when, and the source of that order.
struct Order {
  std::string name;  // of the schedule, the policy or the order's file
  Placement placement;
  Schedule schedule;
  std::uint32_t microbatches = 0;
  std::uint32_t slices = 1;
  const ScheduleEntry* rule = nullptr;
  const PolicyEntry* policy = nullptr;
  ScheduleOptions options;      // of the rule or policy
  Communication communication;  // where it is written
  std::vector<bool> exchanges;  // of a file: by model stage, whether its cells exchange its output
  std::string note;             // what is not simulated; empty if all is
};

/// Throws InputError for an option that the scenario's rule or policy does not take.
void check_order_options(const Scenario& scenario);

/// The order of a schedule rule. Throws InputError with a pointer into the scenario, and OverBudget
/// where work on it, with these bytes for each cell, takes too much memory.
Order order_by_rule(const Scenario& scenario, const Degrees& degrees, std::uint32_t microbatches,
                    double bytes_per_cell);

/// The actions that a policy has to order. Throws as above.
Order order_by_policy(const Scenario& scenario, const Degrees& degrees, std::uint32_t microbatches,
                      double bytes_per_cell);

/// The order from the scenario's file. Throws InputError that starts with the faulty file.
Order order_by_file(const Scenario& scenario);

/// Refuses a scenario that contradicts its order's file.
void check_against_order(const Scenario& scenario, const Degrees& degrees, const Batch& batch,
                         const Order& order);

/// Whether an order has overlap cells.
bool has_joined_cells(const Schedule& schedule);

}  // namespace penstock
