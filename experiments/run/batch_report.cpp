#include "experiments/run/batch_report.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/run/layout/training.hpp"
#include "sim/report/memory.hpp"

namespace penstock {
namespace {

/// A peak of a rank, and the data replica that has it.
struct ReplicaPeak {
  MemoryPeak memory;
  std::uint32_t replica = 0;
};

/// The runs of all replicas, none of which waits for another.
struct ReplicaRuns {
  std::vector<Time> makespans;
  std::vector<ReplicaPeak> peaks;  // the highest of each rank

  Time mean() const {
    double sum = 0;  // of what is beyond the first, which is small
    for (const Time one : makespans) sum += to_us(one - makespans.front());
    return makespans.front() + from_us(sum / static_cast<double>(makespans.size()));
  }
};

void take_run(const PricedPlan& priced, const Timeline& timeline, ReplicaRuns& runs) {
  const auto replica = static_cast<std::uint32_t>(runs.makespans.size());
  const auto peaks = memory_peaks(priced.plan, priced.costs, timeline);
  runs.peaks.resize(peaks.size());
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    ReplicaPeak& highest = runs.peaks[rank];
    if (peaks[rank].bytes > highest.memory.bytes) highest = {peaks[rank], replica};
  }
  runs.makespans.push_back(makespan(priced.plan, timeline));
}

std::vector<MemoryPeak> peaks_of(const ReplicaRuns& runs) {
  std::vector<MemoryPeak> peaks;
  for (const ReplicaPeak& peak : runs.peaks) peaks.push_back(peak.memory);
  return peaks;
}

/// The highest of all ranks, the first of equals.
BatchPeak highest_of(const std::vector<ReplicaPeak>& peaks, const Plan& plan) {
  const auto highest = std::ranges::max_element(
      peaks, {}, [](const ReplicaPeak& peak) { return peak.memory.bytes; });
  const auto& [memory, replica] = *highest;
  BatchPeak peak{.replica = replica,
                 .rank = Rank{static_cast<std::uint32_t>(highest - peaks.begin())},
                 .bytes = memory.bytes,
                 .time = memory.time};
  if (memory.task == no_task) return peak;
  peak.stage = plan.class_of(memory.task).stage;
  peak.microbatch = plan.microbatch[memory.task];
  return peak;
}

/// Of one replica, where all are equal. Empty if a replica cannot finish.
std::optional<ReplicaRuns> run_each(const Layout& layout, const Simulation& simulation,
                                    const PricedPlan& plain, const StepBatch* batch) {
  Simulation::Replicas drawn = simulation.draw_replicas(plain, 0, batch);
  if (batch == nullptr && !layout.chance.differs_among_replicas()) drawn.costs.resize(1);
  ReplicaRuns runs;
  for (Costs& costs : drawn.costs) {
    drawn.priced.costs = std::move(costs);
    const auto outcome = simulation.run(drawn.priced);
    const auto* timeline = std::get_if<Timeline>(&outcome);
    if (timeline == nullptr) return std::nullopt;
    take_run(drawn.priced, *timeline, runs);
  }
  return runs;
}

StepBatch without_loads(StepBatch batch) {
  for (ReplicaBatch& replica : batch.replicas) {
    for (StepMicrobatch& one : replica) one.loads.clear();
  }
  return batch;
}

Layout with_equal_microbatches(const Layout& layout, const StepMicrobatch& mean) {
  Layout equal = layout;
  set_microbatch(equal, mean);
  equal.documents.reset();
  return equal;
}

/// The mean of the replicas' runs where all microbatches are like their mean.
std::optional<Time> equal_step(const Layout& layout, const Simulation& simulation,
                               const PricedPlan& plain, const StepMicrobatch& mean) {
  const Layout equal = with_equal_microbatches(layout, mean);
  const Simulation own(equal, simulation.shared_hardware());
  const auto runs = run_each(equal, own, own.price(plain.plan), nullptr);
  return runs ? std::optional(runs->mean()) : std::nullopt;
}

/// Fills in the losses. False if a replica cannot finish.
bool split_losses(const Layout& layout, const Simulation& simulation, const PricedPlan& plain,
                  const ReplicaRuns& all, BatchReport& report) {
  const auto equal = equal_step(layout, simulation, plain, report.batch.mean());
  if (!equal) return false;
  std::optional<ReplicaRuns> balanced = all;
  if (report.batch.has_loads()) {
    const StepBatch without = without_loads(report.batch);
    balanced = run_each(layout, simulation, plain, &without);
    if (!balanced) return false;
  }
  report.equal = *equal;
  report.pipeline = balanced->mean() - *equal;
  report.experts = all.mean() - balanced->mean();
  report.replicas = report.step - all.mean();
  return true;
}

}  // namespace

std::vector<MemoryPeak> peaks_of_replicas(const Layout& layout, const Simulation& simulation,
                                          const PricedPlan& plain, const StepBatch& batch) {
  const auto all = run_each(layout, simulation, plain, &batch);
  return all ? peaks_of(*all) : std::vector<MemoryPeak>{};
}

std::optional<BatchReport> batch_report(const Layout& layout, const Simulation& simulation,
                                        const PricedPlan& plain, StepBatch batch,
                                        const ReplicasStep& step, bool splits_losses) {
  BatchReport report{.batch = std::move(batch), .step = step.makespan, .slowest = step.last};
  report.full_tokens = *layout.documents->tokens;
  report.pictures_per_token = layout.documents->pictures_per_token;
  const auto all = run_each(layout, simulation, plain, &report.batch);
  if (!all) return std::nullopt;
  report.peaks = peaks_of(*all);
  report.peak = highest_of(all->peaks, plain.plan);
  if (splits_losses && !split_losses(layout, simulation, plain, *all, report)) return std::nullopt;
  return report;
}

BatchPeak highest_peak(const Report& report, const std::optional<BatchReport>& batch) {
  const auto worst = std::ranges::max_element(
      report.ranks, {}, [](const RankReport& rank) { return rank.memory.bytes; });
  const std::uint64_t bytes = worst->memory.bytes;
  if (batch && batch->peak.bytes > bytes) return batch->peak;
  return {.replica = batch ? batch->slowest : 0,
          .rank = Rank{static_cast<std::uint32_t>(worst - report.ranks.begin())},
          .bytes = bytes,
          .time = worst->memory.time};
}

double samples_of(const Layout& layout, const StepBatch* batch) {
  if (batch == nullptr) return global_batch_of(layout);
  const double replicas = layout.degrees.data / static_cast<double>(batch->replicas.size());
  return static_cast<double>(batch->sum().documents) * replicas;
}

Throughput throughput_of(const Layout& layout, const std::optional<StepBatch>& batch,
                         const Plan& plan, Time makespan, std::optional<double> peak_flops) {
  if (!batch) return throughput_of(layout, plan, makespan, peak_flops);
  const StepMicrobatch mean = batch->mean();
  Layout equal = with_equal_microbatches(layout, mean);
  const bool by_kind = !layout.spec.blocks.empty();
  equal.batch.sequence = by_kind ? equal.shape.sequence : mean.packed.tokens;
  equal.batch.samples_per_microbatch = by_kind ? equal.shape.microbatch : 1;
  Throughput throughput = throughput_of(equal, plan, makespan, peak_flops);
  if (makespan == Time{}) return throughput;
  throughput.samples_per_s = samples_of(layout, &*batch) / (to_us(makespan) * 1e-6);
  return throughput;
}

}  // namespace penstock
