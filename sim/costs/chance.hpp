#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// A rank whose actions take `factor` times as long for microbatches in [`from`, `until`).
struct Straggler {
  Rank rank;
  double factor = 1;
  Microbatch from{0};
  Microbatch until{UINT32_MAX};
  std::optional<std::uint32_t> replica = {};  // in this data replica only
};

/// A link whose transfers take `factor` times as long, occupancy and latency.
struct SlowLink {
  Rank from;
  Rank to;
  double factor = 1;
};

/// Random and fixed deviations of tasks from their class costs. Factors of one task multiply.
struct Chance {
  std::uint64_t seed = 1;       // below 2^53
  std::uint32_t replica = 0;    // data replica of the pipeline, below 2^11
  double jitter = 0;            // of actions: lognormal with mean 1; sigma of the logarithm
  std::vector<double> samples;  // of actions, instead: factors drawn with equal probability
  double transfer_jitter = 0;   // of transfers: as jitter
  std::vector<Straggler> stragglers;
  std::vector<SlowLink> slow_links;

  bool varies() const { return jitter > 0 || !samples.empty() || transfer_jitter > 0; }
  bool differs_among_replicas() const {
    return varies() || std::ranges::any_of(stragglers, [](const Straggler& one) {
             return one.replica.has_value();
           });
  }
  bool changes_nothing() const { return !varies() && stragglers.empty() && slow_links.empty(); }
};

/// Draw `number` of a plan's costs: fills `task_duration` and `task_latency` where chance changes
/// anything, each time rounded once. A task's draw depends only on the seed, the draw number, the
/// data replica, and its stage, rank, microbatch and pass, not on plan order or other tasks. A
/// fused overlap cell draws once, as its first part. Throws InputError when a rank does not exist
/// or the sum of all times exceeds the clock.
Costs draw(const Plan& plan, const Costs& costs, const Chance& chance, std::uint32_t number);

}  // namespace penstock
