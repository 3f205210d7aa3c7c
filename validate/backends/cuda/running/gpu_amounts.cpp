#include "validate/backends/cuda/running/gpu_amounts.hpp"

#include <algorithm>
#include <cmath>

#include "validate/backends/cuda/running/gpu_trials.hpp"

namespace penstock {
namespace {

/// Some milliseconds on any GPU and any part of it.
std::uint64_t trial_amount(GpuWork work) {
  if (work == GpuWork::products) return 16;
  return work == GpuWork::flops ? std::uint64_t{1} << 20 : std::uint64_t{1} << 24;
}

}  // namespace

double ns_per_amount(const GpuDevice& device, GpuWork work, std::uint32_t rank) {
  if (work == GpuWork::spin) return 0;
  GpuProgram program{rank + 1, 0, {}, {{work, trial_amount(work)}}};
  program.tasks.push_back({.lane = rank});
  GpuExecutor executor(device, program, {.ordering = GpuOrdering::host_issued});
  std::vector<double> times;
  constexpr int turns = 5;
  for (int turn = 0; turn <= turns; ++turn) {
    const auto took = static_cast<double>(makespan_ns(executor.run()));
    if (turn > 0) times.push_back(took);  // the first warms up
  }
  return middle(times) / static_cast<double>(trial_amount(work));
}

void give_amounts(const GpuDevice& device, GpuWork work, GpuProgram& program) {
  if (work == GpuWork::spin) return;
  std::vector<double> ns;
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    ns.push_back(ns_per_amount(device, work, rank));
  }
  for (const GpuTask& task : program.tasks) {
    if (program.is_transfer(task)) continue;
    if (program.bodies.size() <= task.body) program.bodies.resize(task.body + 1);
    if (task.duration_ns == 0) continue;
    const double amount = static_cast<double>(task.duration_ns) / ns[task.lane];
    program.bodies[task.body] = {work, std::max<std::uint64_t>(std::llround(amount), 1)};
  }
}

}  // namespace penstock
