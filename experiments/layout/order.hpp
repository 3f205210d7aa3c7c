#pragma once

#include <cstdint>
#include <string>

#include "experiments/layout/batch.hpp"
#include "experiments/layout/degrees.hpp"
#include "experiments/scenario/scenario.hpp"
#include "schedules/policies/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Who does what when, and where it comes from.
struct Order {
  std::string name;  // of the schedule or policy, or of the order's file
  Placement placement;
  Schedule schedule;
  std::uint32_t microbatches = 0;
  std::uint32_t slices = 1;
  const ScheduleEntry* rule = nullptr;
  const PolicyEntry* policy = nullptr;
  ScheduleOptions options;  // of the rule or policy
};

/// The order of a rule for so many microbatches. Throws InputError with a pointer into the
/// scenario.
Order order_by_rule(const Scenario& scenario, const Degrees& degrees, std::uint32_t microbatches);

/// What a policy has to do. Throws as above.
Order order_by_policy(const Scenario& scenario, const Degrees& degrees, std::uint32_t microbatches);

/// The order of the scenario's file. Throws InputError with the name of the file that is at fault
/// in front.
Order order_by_file(const Scenario& scenario);

/// Refuses what the scenario says beside an order's file and does not agree with it.
void check_against_order(const Scenario& scenario, const Degrees& degrees, const Batch& batch,
                         const Order& order);

/// The JSON pointer of an option of the schedule.
std::string option_pointer(const std::string& name);

}  // namespace penstock
