#include "experiments/run/module_report.hpp"

#include <algorithm>

#include "experiments/run/layout/training.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/memory.hpp"

namespace penstock {
namespace {

/// The ranks of a plan that run a part.
struct PartRanks {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

bool is_of_part(const RunResult& result, Stage stage, bool module) {
  return !result.plan->modules[index(stage)].empty() == module;
}

TimeSum busy_time(const RunResult& result, bool module) {
  const Plan& plan = *result.plan;
  TimeSum busy;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource) || !is_of_part(result, work.stage, module)) continue;
    busy += result.timeline.end[task] - result.timeline.begin[task];
  }
  return busy;
}

/// The largest peak of a rank where only the buffers of a part have bytes.
std::uint64_t peak_bytes(const RunResult& result, bool module) {
  Costs costs = result.costs;
  for (std::size_t b = 0; b < costs.bytes.size(); ++b) {
    const BufferClass& buffer = result.plan->buffers[b];
    if (is_of_rank(buffer.kind) || !is_of_part(result, buffer.stage, module)) costs.bytes[b] = 0;
  }
  std::uint64_t most = 0;
  for (const MemoryPeak& peak : memory_peaks(*result.plan, costs, result.timeline)) {
    most = std::max(most, peak.bytes);
  }
  return most;
}

PartReport part_report(const RunResult& result, bool module, const PartRanks& ranks,
                       PartReport part) {
  const double all = to_us(result.report->makespan) * (ranks.end - ranks.first);
  double idle = 0;
  for (std::uint32_t rank = ranks.first; rank < ranks.end; ++rank) {
    idle += to_us(result.report->makespan - result.report->ranks[rank].busy);
  }
  part.busy = us_of(busy_time(result, module)) / all;
  part.bubble = idle / all;
  part.peak_bytes = peak_bytes(result, module);
  return part;
}

}  // namespace

std::vector<PartReport> part_reports(const RunResult& result) {
  const Layout& layout = result.layout;
  const LayoutModule& module = *layout.module;
  const std::uint32_t ranks = pipeline_ranks(layout), all = layout.placement.ranks();
  const std::uint64_t others = ranks * devices_per_rank(layout.degrees);
  const bool shares = module.shares_devices;
  return {part_report(result, true, shares ? PartRanks{0, ranks} : PartRanks{ranks, all},
                      {.name = module.name,
                       .degrees = module.degrees,
                       .pipeline = module.stages,
                       .devices = shares ? others : devices_of(layout) - others}),
          part_report(
              result, false, {0, ranks},
              {.name = "others", .degrees = layout.degrees, .pipeline = ranks, .devices = others})};
}

}  // namespace penstock
