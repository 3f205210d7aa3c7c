#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/network.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/order/weight_versions.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/critical_path.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/memory.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Traffic of one physical link.
struct NetworkLinkUse {
  std::string name;
  std::uint64_t transfers = 0;
  std::uint64_t bytes = 0;
  double utilization = 0;  // share of its capacity until the makespan
};

/// The physical links with any traffic, in the order of the network: those that the first replica
/// uses, each with the traffic of all its sharers.
std::vector<NetworkLinkUse> network_use(const Plan& plan, const Costs& costs,
                                        const Network& network, Time makespan);

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

/// From makespan and ranks.
Bubble bubble_of(const Report& report);
/// All of a run, from its end on: `timeline` is that of this plan with these costs.
Report summarize(const Plan& plan, const Costs& costs, const Timeline& timeline,
                 const Conditions& conditions = {});

/// Makespan, bubble, and start, end, busy and idle time of each rank alone, for many runs of which
/// no more is read: the rest takes most of the time.
Report summarize_times(const Plan& plan, const Timeline& timeline);

/// Microseconds per microbatch in the steady state of a pipeline without flush: the mean time
/// between two microbatches leaving it, that is, ending their backward (B or W) on a first stage.
///
/// Skips as many at the beginning as entered before the first left (warm-up), and as many at the
/// end (drain). The rest is cut to whole periods, in which each replica of each stage has equally
/// many turns: multiples of the least common multiple of their numbers. Nothing when no whole
/// period remains, or without backwards.
std::optional<double> steady_interval_us(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
