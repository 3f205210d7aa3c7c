#pragma once

#include <cstdint>
#include <optional>

#include "experiments/run/batch/step_batch.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/throughput.hpp"
#include "sim/base/numbers.hpp"
#include "sim/base/time.hpp"
#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// The highest peak of memory in any data replica.
struct BatchPeak {
  std::uint32_t replica = 0;
  Rank rank{};
  std::uint64_t bytes = 0;
  Time time{};
  // Of the action at the peak; empty: the start of the run.
  std::optional<Stage> stage;
  std::optional<Microbatch> microbatch;
};

/// What microbatches that differ cost a step. `step` is `equal` plus the three losses.
struct BatchReport {
  StepBatch batch;
  double full_tokens = 0;         // of a microbatch
  double pictures_per_token = 0;  // of an example of the model; 0: documents state no pictures
  Time step{};
  Time equal{};     // with all microbatches like their mean, and no device of experts busier
  Time pipeline{};  // lost because microbatches of one replica differ: mean of all replicas
  Time experts{};   // lost in the groups of experts, which wait for their busiest device: the same
  Time replicas{};  // lost because replicas wait for the slowest
  std::uint32_t slowest = 0;  // replica, which the report of the run shows
  BatchPeak peak;
};

/// A step of all data replicas.
struct ReplicasStep {
  Time makespan{};
  std::uint32_t last = 0;  // the replica that ends last
};

/// Splits the loss of the first draw of a run with these microbatches. `plain`: its priced plan
/// with equal ones. Empty where a replica cannot finish.
std::optional<BatchReport> batch_report(const Layout& layout, const Simulation& simulation,
                                        const PricedPlan& plain, StepBatch batch,
                                        const ReplicasStep& step);

/// The throughput of a run. Where microbatches differ, samples are documents.
Throughput throughput_of(const Layout& layout, const std::optional<StepBatch>& batch,
                         const Plan& plan, Time makespan, std::optional<double> peak_flops);

}  // namespace penstock
