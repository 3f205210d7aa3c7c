#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "validate/backends/cuda/measuring/gpu_probes.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"
#include "validate/backends/cuda/running/gpu_executor.hpp"

// On a real GPU. How exactly it keeps to times is reported by penstock_gpu_check; here stands what
// must hold however busy it is.

namespace penstock {
namespace {

constexpr GpuOrdering orderings[] = {GpuOrdering::host_issued, GpuOrdering::host_graphs,
                                     GpuOrdering::graph};

/// Latencies too, so that transfers of a link are on their way together.
GpuProgram pipeline_program() {
  GpuProgram program = one_f_one_b({.ranks = 4,
                                    .microbatches = 8,
                                    .forward_ns = 200'000,
                                    .transfer_ns = 100'000,
                                    .transfer_bytes = 1 << 20});
  for (GpuTask& task : program.tasks) {
    if (program.is_transfer(task)) task.latency_ns = 50'000;
  }
  return program;
}

}  // namespace

TEST_CASE("on a GPU: no task begins before its inputs, or the task before it on its lane, end") {
  const GpuProgram program = pipeline_program();
  const GpuDevice device(*cuda_calls(), program.ranks, program.links);
  for (const GpuOrdering ordering : orderings) {
    GpuExecutor executor(device, program, {.ordering = ordering});
    for (int i = 0; i < 3; ++i) {
      const GpuRun run = executor.run();
      std::vector<std::uint64_t> free(program.lanes());
      for (std::size_t at = 0; at < program.tasks.size(); ++at) {
        CAPTURE(at);
        const GpuTask& task = program.tasks[at];
        const std::uint64_t held_until = run.end_ns[at] - task.latency_ns;
        CHECK(run.begin_ns[at] >= free[task.lane]);
        for (const std::uint32_t input : task.inputs) {
          CHECK(run.begin_ns[at] >= run.end_ns[input]);
        }
        CHECK(held_until >= run.begin_ns[at] + task.duration_ns);
        free[task.lane] = held_until;
      }
    }
  }
}

TEST_CASE("on a GPU: where SMs are given to ranks, none runs actions of two") {
  const GpuProgram program = pipeline_program();
  const GpuDevice device(*cuda_calls(), program.ranks, program.links);
  if (!device.is_partitioned()) {
    MESSAGE("not partitioned: " << device.shares().why_unpartitioned);
    return;
  }
  for (const GpuOrdering ordering : orderings) {
    GpuExecutor executor(device, program, {.ordering = ordering});
    executor.run();
    const auto seen = executor.actions().sms_seen();
    if (may_be_renumbered(seen) && !ranks_share_sms(device, program)) continue;
    std::vector<int> ranks(most_sm_ids);
    for (const auto& ids : seen) {
      CHECK_FALSE(ids.empty());
      for (const std::uint32_t id : ids) ++ranks[id];
    }
    CHECK(*std::max_element(ranks.begin(), ranks.end()) == 1);
  }
}

TEST_CASE("on a GPU: its clock goes on, in steps") {
  const GpuDevice device(*cuda_calls(), 1, 0);
  const ClockStep step = clock_step(device);
  CHECK(step.least_ns > 0);
  CHECK(step.median_ns >= step.least_ns);
}

}  // namespace penstock
