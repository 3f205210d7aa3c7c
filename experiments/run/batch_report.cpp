#include "experiments/run/batch_report.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/costs/chance.hpp"
#include "sim/report/memory.hpp"

namespace penstock {
namespace {

/// The runs of all replicas, none of which waits for another.
struct ReplicaRuns {
  std::vector<Time> makespans;
  BatchPeak peak;

  Time mean() const {
    double sum = 0;  // of what is beyond the first, which is small
    for (const Time one : makespans) sum += to_us(one - makespans.front());
    return makespans.front() + from_us(sum / static_cast<double>(makespans.size()));
  }
};

void take_peak(const PricedPlan& priced, const Timeline& timeline, std::uint32_t replica,
               BatchPeak& most) {
  const auto peaks = memory_peaks(priced.plan, priced.costs, timeline);
  for (const Rank rank : Numbers<Rank>(priced.plan.ranks)) {
    const MemoryPeak& peak = peaks[index(rank)];
    if (peak.bytes <= most.bytes) continue;
    most = {.replica = replica, .rank = rank, .bytes = peak.bytes, .time = peak.time};
    if (peak.task == no_task) continue;
    most.stage = priced.plan.class_of(peak.task).stage;
    most.microbatch = priced.plan.microbatch[peak.task];
  }
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
    const auto replica = static_cast<std::uint32_t>(runs.makespans.size());
    take_peak(drawn.priced, *timeline, replica, runs.peak);
    runs.makespans.push_back(makespan(drawn.priced.plan, *timeline));
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

}  // namespace

std::optional<BatchReport> batch_report(const Layout& layout, const Simulation& simulation,
                                        const PricedPlan& plain, StepBatch batch,
                                        const ReplicasStep& step) {
  BatchReport report{.batch = std::move(batch), .step = step.makespan};
  report.full_tokens = *layout.documents->tokens;
  report.pictures_per_token = layout.documents->pictures_per_token;
  const auto all = run_each(layout, simulation, plain, &report.batch);
  const auto equal = equal_step(layout, simulation, plain, report.batch.mean());
  if (!all || !equal) return std::nullopt;
  auto balanced = all;
  if (report.batch.has_loads()) {
    const StepBatch without = without_loads(report.batch);
    balanced = run_each(layout, simulation, plain, &without);
    if (!balanced) return std::nullopt;
  }
  report.equal = *equal;
  report.pipeline = balanced->mean() - *equal;
  report.experts = all->mean() - balanced->mean();
  report.replicas = step.makespan - all->mean();
  report.slowest = step.last;
  report.peak = all->peak;
  return report;
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
  const double replicas = layout.degrees.data / static_cast<double>(batch->replicas.size());
  throughput.samples_per_s = batch->sum().documents * replicas / (to_us(makespan) * 1e-6);
  return throughput;
}

}  // namespace penstock
