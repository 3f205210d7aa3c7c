#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/order/weight_versions.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/critical_path.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/network_use.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Report of one rank.
struct RankReport {
  Time start{};  // of its first action
  Time end{};    // of its last
  Time busy{};
  Time idle{};  // makespan - busy
  IdleCauses idle_by_cause;
  std::uint32_t actions = 0;
  std::uint32_t peak_activations = 0;
  WeightVersions weights;  // set by the caller, who knows the order
  MemoryPeak memory;
};

/// Report of one link.
struct LinkReport {
  Link link;
  std::uint64_t transfers = 0;
  std::uint64_t bytes = 0;
  Time busy{};  // occupied; latency does not occupy it
};

/// The three bubble fractions in use; papers define the bubble in each of these ways.
struct Bubble {
  double of_makespan = 0;      // mean idle share of the ranks: 1 - sum(busy) / (ranks * makespan)
  double over_ideal = 0;       // makespan / (busiest rank's work) - 1
  double of_longest_span = 0;  // 1 - (busiest rank's work) / (longest of end - start over ranks)
};

/// The report of a run.
struct Report {
  Time makespan{};
  Bubble bubble;
  std::vector<RankReport> ranks;
  std::vector<LinkReport> links;
  std::vector<NetworkLinkUse> network;  // set for a run with a network
  std::vector<PathStep> critical_path;  // from the start of the run to its end
};

Report summarize(const Plan& plan, const Costs& costs, const Timeline& timeline,
                 const Conditions& conditions = {});

/// Makespan, bubble, and start, end, busy and idle time of each rank alone, for many runs of which
/// no more is read: the rest takes most of the time.
Report summarize_times(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
