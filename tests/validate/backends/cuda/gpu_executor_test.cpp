#include "validate/backends/cuda/gpu_executor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/support/fake_gpu.hpp"
#include "validate/backends/cuda/gpu_error.hpp"
#include "validate/backends/cuda/gpu_pipeline.hpp"

namespace penstock::testing {
namespace {

constexpr GpuOrdering both_orderings[] = {GpuOrdering::host_issued, GpuOrdering::graph};

GpuRun run_of(const FakeGpu& gpu, const GpuProgram& program, GpuOrdering ordering) {
  const GpuCalls calls = gpu.calls();
  const GpuDevice device(calls, program.ranks, program.links);
  GpuExecutor executor(device, program, ordering);
  executor.run();
  return executor.run();
}

std::uint64_t first_ns(const GpuRun& run) {
  return *std::min_element(run.begin_ns.begin(), run.begin_ns.end());
}

std::uint64_t makespan_ns(const GpuRun& run) {
  return *std::max_element(run.end_ns.begin(), run.end_ns.end()) - first_ns(run);
}

/// Rank 0 does two actions of 10 ns; what each makes goes to rank 1 in 30 ns and arrives 5 ns
/// later.
GpuProgram two_ranks() {
  return {2,
          1,
          {{.lane = 0, .duration_ns = 10},
           {.lane = 0, .duration_ns = 10},
           {.lane = 2, .duration_ns = 30, .latency_ns = 5, .bytes = 4096, .inputs = {0}},
           {.lane = 2, .duration_ns = 30, .latency_ns = 5, .bytes = 4096, .inputs = {1}},
           {.lane = 1, .duration_ns = 7, .inputs = {2}},
           {.lane = 1, .duration_ns = 7, .inputs = {3}}}};
}

/// What a call throws, or "".
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

// The link is held from 10 to 40 and from 40 to 70; tensors arrive at 45 and 75.
TEST_CASE("gpu executor: a task begins when its lane is free and all it waits for has arrived") {
  for (const GpuOrdering ordering : both_orderings) {
    const FakeGpu gpu;
    const GpuRun run = run_of(gpu, two_ranks(), ordering);
    const std::vector<std::uint64_t> begins = {0, 10, 10, 40, 45, 75};
    const std::vector<std::uint64_t> ends = {10, 20, 45, 75, 52, 82};
    for (std::size_t task = 0; task < begins.size(); ++task) {
      CAPTURE(task);
      CHECK(run.begin_ns[task] - first_ns(run) == begins[task]);
      CHECK(run.end_ns[task] - first_ns(run) == ends[task]);
    }
  }
}

// (m + p - 1)(F + B), F 2 and B 4 ms.
TEST_CASE(
    "gpu executor: 1F1B takes its longest path, which is the formula when transfers are free") {
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U}) {
    for (const std::uint32_t microbatches : {1U, 3U, 8U, 32U}) {
      CAPTURE(ranks);
      CAPTURE(microbatches);
      GpuPipeline pipeline{.ranks = ranks, .microbatches = microbatches, .transfer_ns = 0};
      CHECK(formula_ns(pipeline) == (microbatches + ranks - 1) * std::uint64_t{6'000'000});
      CHECK(longest_path_ns(one_f_one_b(pipeline)) == formula_ns(pipeline));
      pipeline.transfer_ns = 50'000;
      const GpuProgram program = one_f_one_b(pipeline);
      CHECK(program.tasks.size() == std::size_t{2} * microbatches * (2 * ranks - 1));
      for (const GpuOrdering ordering : both_orderings) {
        const FakeGpu gpu;
        CHECK(makespan_ns(run_of(gpu, program, ordering)) == longest_path_ns(program));
      }
    }
  }
}

// 2 ranks, 1 microbatch: F0, B0 on each is a program, of 2 actions a rank and a transfer each way.
// B0 of rank 0 needs that of rank 1, which needs F0 of rank 0: to begin with it never ends.
TEST_CASE("gpu pipeline: orders that get stuck are an error, and no program without the rest") {
  const GpuPipeline pipeline{.ranks = 2, .microbatches = 1};
  const std::vector<GpuAction> forward_first = {{false, 0}, {true, 0}};
  const std::vector<GpuAction> backward_first = {{true, 0}, {false, 0}};
  CHECK(ordered(pipeline, {forward_first, forward_first}).tasks.size() == 6);
  CHECK(error_of([&] {
          ordered(pipeline, {backward_first, forward_first});
        }) == "rank 0 waits for an input that never arrives");
}

TEST_CASE("gpu executor: as a graph all tasks are launched once, with one call a run") {
  const FakeGpu gpu;
  const GpuProgram program = two_ranks();
  run_of(gpu, program, GpuOrdering::graph);
  CHECK(gpu.launches == program.tasks.size());
  CHECK(gpu.graph_launches == 2);
  run_of(gpu, program, GpuOrdering::host_issued);
  CHECK(gpu.launches == 3 * program.tasks.size());
  CHECK(gpu.graph_launches == 2);
}

TEST_CASE("gpu executor: it tells on which SMs each rank ran") {
  const FakeGpu gpu;
  const GpuCalls calls = gpu.calls();
  const GpuDevice device(calls, 2, 1);
  GpuExecutor executor(device, two_ranks(), GpuOrdering::graph);
  executor.run();
  const auto seen = executor.sms_seen();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].size() == 64);
  CHECK(seen[0].front() == 0);
  CHECK(seen[1].size() == 64);
  CHECK(seen[1].front() == 64);
}

TEST_CASE("gpu executor: what it was handed out it gives back, also when a launch fails") {
  for (const GpuOrdering ordering : both_orderings) {
    FakeGpu gpu;
    run_of(gpu, two_ranks(), ordering);
    CHECK(gpu.handed_out.empty());
    gpu.failing_launch = static_cast<int>(gpu.launches) + 3;
    const std::string error = error_of([&] { run_of(gpu, two_ranks(), ordering); });
    CHECK(error.find("launching task 3: cudaErrorLaunchFailure (719), at "
                     "validate/backends/cuda/gpu_executor.cpp:") == 0);
    CHECK(gpu.handed_out.empty());
  }
}

TEST_CASE("gpu executor: memory that is missing is an error that says how much") {
  FakeGpu gpu;
  gpu.memory_bytes = 1 << 20;
  GpuProgram program = two_ranks();
  program.tasks[3].bytes = 3 << 20;
  const std::string error = error_of([&] { run_of(gpu, program, GpuOrdering::host_issued); });
  CHECK(error.find("allocating, in KiB, 4096: cudaErrorMemoryAllocation (2), at ") == 0);
  CHECK(gpu.handed_out.empty());
}

TEST_CASE("gpu executor: a program in which a task precedes what it waits for is refused") {
  const FakeGpu gpu;
  GpuProgram program = two_ranks();
  program.tasks[2].inputs = {4};
  CHECK(error_of([&] { run_of(gpu, program, GpuOrdering::host_issued); }) ==
        "a task precedes one of its inputs");
}

}  // namespace penstock::testing
