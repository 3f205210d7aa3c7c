#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// A rank whose actions take `factor` times as long, for microbatches from `from` to before
/// `until`.
struct Straggler {
  Rank rank;
  double factor = 1;
  Microbatch from{0};
  Microbatch until{UINT32_MAX};
  std::optional<std::uint32_t> replica = {};  // in this data replica alone
};

/// A link whose transfers occupy it, and are on their way, `factor` times as long.
struct SlowLink {
  Rank from;
  Rank to;
  double factor = 1;
};

/// How the tasks of a run differ from what their classes cost. Factors of one task multiply.
struct Chance {
  std::uint64_t seed = 1;       // below 2^53
  std::uint32_t replica = 0;    // of the pipeline: which data replica it is, below 2^11
  double jitter = 0;            // of actions: lognormal factors of mean 1; sigma of the logarithm
  std::vector<double> samples;  // of actions, instead: one of these factors, each as likely
  double transfer_jitter = 0;   // of transfers: as jitter
  std::vector<Straggler> stragglers;
  std::vector<SlowLink> slow_links;

  bool varies() const { return jitter > 0 || !samples.empty() || transfer_jitter > 0; }
  bool differs_among_replicas() const {
    return varies() || std::any_of(stragglers.begin(), stragglers.end(),
                                   [](const Straggler& one) { return one.replica.has_value(); });
  }
  bool changes_nothing() const { return !varies() && stragglers.empty() && slow_links.empty(); }
};

/// Draw `number` of the costs of a plan: `task_duration` and `task_latency` are filled where chance
/// changes anything, each time rounded once. What a task draws is a function of the seed, the
/// number of the draw, the data replica, and its stage, rank, microbatch and pass: neither the
/// order of the plan nor the other tasks have a part in it. A fused overlap cell draws once, as its
/// first part. Throws InputError when a rank does not exist or the sum of all times would not fit
/// the clock.
Costs draw(const Plan& plan, const Costs& costs, const Chance& chance, std::uint32_t number);

}  // namespace penstock
