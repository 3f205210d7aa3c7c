#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock::testing {

/// Bytes that go over the links of a route from some moment on.
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

/// Draws a number below another.
using Below = std::function<std::uint32_t(std::uint32_t)>;

/// Up to 12 links of 10 MB/s to 10 GB/s and up to 30 flows of 100 kB to 1 GB over routes of up to 5
/// of them; among the flows are some that start together and some that are equal. The latency of
/// all routes is the same.
FlowSet random_flows(const Below& below);

/// A plan in which each flow is the one transfer of a pair of ranks of its own: rank 2k runs an
/// action until flow k starts, and what it hands to rank 2k + 1 is the flow.
struct FlowPlan {
  Plan plan;
  Costs costs;
  Conditions conditions;

  explicit FlowPlan(const FlowSet& set, Sharing sharing = Sharing::fair);
  /// The transfer that is flow k.
  TaskId transfer(std::uint32_t flow) const { return transfer_[flow]; }
  /// Runs the plan; fails the test when it comes to a halt.
  Timeline run() const;

 private:
  std::vector<TaskId> transfer_;
};

}  // namespace penstock::testing
