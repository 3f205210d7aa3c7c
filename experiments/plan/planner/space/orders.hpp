#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/plan/planner/space/restrictions.hpp"
#include "schedules/registry.hpp"

namespace penstock {

/// A schedule rule with its chunks and options.
struct OrderChoice {
  const ScheduleEntry* rule = nullptr;
  std::uint32_t chunks = 1;
  std::map<std::string, std::string, std::less<>> options;
  std::uint32_t slices = 1;       // cells per microbatch
  bool splits = false;            // has W: a backward is I and W, or B
  bool joins = false;             // has overlap cells
  const char* why_not = nullptr;  // the rule that excludes it from every layout
};

/// The most chunks per rank that are tried.
constexpr std::uint32_t most_planned_chunks = 16;

/// Every schedule rule with the chunks and options that it takes, by name and chunks.
std::vector<OrderChoice> orders_of(const Restrictions& only);

/// The placement of an order; throws RuleError for ranks that the rule does not take.
Placement placement_of(const OrderChoice& order, std::uint32_t ranks);

}  // namespace penstock
