#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/run/batch/step_batch.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/throughput.hpp"
#include "sim/base/numbers.hpp"
#include "sim/base/time.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/report.hpp"

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

/// What microbatches that differ cost a step. `step` is `equal` plus the three losses, which are
/// zero where a run does not split them.
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
  std::vector<MemoryPeak> peaks;  // of each rank, the highest in any data replica
};

/// A step of all data replicas.
struct ReplicasStep {
  Time makespan{};
  std::uint32_t last = 0;  // the replica that ends last
};

/// Of each rank, the highest peak in any data replica of the first draw with these microbatches;
/// empty where a replica cannot finish. `plain`: the priced plan with equal ones.
std::vector<MemoryPeak> peaks_of_replicas(const Layout& layout, const Simulation& simulation,
                                          const PricedPlan& plain, const StepBatch& batch);

/// The same as part of a report, which may split the loss of that draw. Empty where a replica
/// cannot finish.
std::optional<BatchReport> batch_report(const Layout& layout, const Simulation& simulation,
                                        const PricedPlan& plain, StepBatch batch,
                                        const ReplicasStep& step, bool splits_losses);

/// The highest peak of a finished run: of the replica that its report shows, or of any other.
BatchPeak highest_peak(const Report& report, const std::optional<BatchReport>& batch);

/// Samples of a step of all data replicas: examples, or the documents of a batch.
double samples_of(const Layout& layout, const StepBatch* batch);

/// The throughput of a run. Where microbatches differ, samples are documents.
Throughput throughput_of(const Layout& layout, const std::optional<StepBatch>& batch,
                         const Plan& plan, Time makespan, std::optional<double> peak_flops);

}  // namespace penstock
