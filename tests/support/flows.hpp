#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock::testing {

/// Bytes sent over the links of a route from some time on.
struct Flow {
  double start_us = 0;
  double bytes = 0;
  std::vector<std::uint32_t> route;
};

/// Flows that share links, and nothing else.
struct FlowSet {
  std::vector<NetworkLink> links;
  std::vector<Flow> flows;
};

/// Draws a number below its argument.
using Below = std::function<std::uint32_t(std::uint32_t)>;

/// Up to 12 links of 10 MB/s to 10 GB/s, and up to 30 flows of 100 kB to 1 GB over routes of up to
/// 5 links. Some flows start together, some are equal. All routes have the same latency.
FlowSet random_flows(const Below& below);

/// A plan in which each flow is the only transfer of its own pair of ranks: rank 2k runs an action
/// until flow k starts, and its output to rank 2k + 1 is the flow.
struct FlowPlan {
  Plan plan;
  Costs costs;
  Conditions conditions;

  explicit FlowPlan(const FlowSet& set, Sharing sharing = Sharing::fair);
  /// The transfer of flow k.
  TaskId transfer(std::uint32_t flow) const { return transfer_[flow]; }
  /// Runs the plan; fails the test if it deadlocks.
  Timeline run() const;

 private:
  std::vector<TaskId> transfer_;
};

}  // namespace penstock::testing
