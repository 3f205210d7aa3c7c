#include "validate/backends/cuda/running/gpu_executor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "tests/support/fake_gpu.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"

namespace penstock::testing {
namespace {

constexpr GpuOrdering pipelined[] = {GpuOrdering::host_issued, GpuOrdering::host_graphs,
                                     GpuOrdering::graph};

GpuRun run_of(const FakeGpu& gpu, const GpuProgram& program, GpuOrdering ordering) {
  const GpuDevice device(gpu.calls(), program.ranks, program.links);
  GpuExecutor executor(device, program, {.ordering = ordering});
  executor.run();
  return executor.run();
}

std::uint64_t first_ns(const GpuRun& run) {
  return *std::min_element(run.begin_ns.begin(), run.begin_ns.end());
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
           {.lane = 1, .duration_ns = 7, .inputs = {3}}},
          {}};
}

}  // namespace

// The link is held from 10 to 40 and from 40 to 70; tensors arrive at 45 and 75.
TEST_CASE("gpu executor: a task begins when its lane is free and all it waits for has arrived") {
  for (const GpuOrdering ordering : pipelined) {
    const FakeGpu gpu;
    const GpuRun run = run_of(gpu, two_ranks(), ordering);
    // Stamps, and the progress of graphs, are cleared before, in 1 us each.
    CHECK(run.elapsed_ns == doctest::Approx(ordering == GpuOrdering::host_graphs ? 3082 : 2082));
    CHECK(gpu.early_reads == 0);
    const std::vector<std::uint64_t> begins = {0, 10, 10, 40, 45, 75};
    const std::vector<std::uint64_t> ends = {10, 20, 45, 75, 52, 82};
    for (std::size_t task = 0; task < begins.size(); ++task) {
      CAPTURE(task);
      CHECK(run.begin_ns[task] - first_ns(run) == begins[task]);
      CHECK(run.end_ns[task] - first_ns(run) == ends[task]);
    }
  }
}

// Two ranks that need nothing of each other, and a copy that needs the first action alone.
TEST_CASE("gpu executor: one by one, a task begins when all before it have ended") {
  const FakeGpu gpu;
  const GpuProgram program{2,
                           1,
                           {{.lane = 0, .duration_ns = 10},
                            {.lane = 1, .duration_ns = 20},
                            {.lane = 0, .duration_ns = 10},
                            {.lane = 2, .duration_ns = 30, .latency_ns = 5, .inputs = {0}},
                            {.lane = 1, .duration_ns = 20, .inputs = {3}}},
                           {}};
  const GpuRun run = run_of(gpu, program, GpuOrdering::one_by_one);
  const std::vector<std::uint64_t> begins = {0, 10, 30, 40, 75};
  for (std::size_t task = 0; task < begins.size(); ++task) {
    CHECK(run.begin_ns[task] - first_ns(run) == begins[task]);
  }
}

TEST_CASE("gpu program: without its pace, copies take no time of their own") {
  const GpuProgram program = unpaced(two_ranks());
  CHECK(program.tasks[0].duration_ns == 10);
  CHECK(program.tasks[2].duration_ns + program.tasks[2].latency_ns == 0);
  CHECK(program.tasks[2].bytes == 4096);
}

// (m + p - 1)(F + B), F 2 and B 4 ms.
TEST_CASE(
    "gpu executor: 1F1B takes its longest path, which is the formula when transfers are free") {
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U}) {
    for (const std::uint32_t microbatches : {1U, 3U, 8U, 32U}) {
      CAPTURE(ranks);
      CAPTURE(microbatches);
      GpuPipeline pipeline{.ranks = ranks, .microbatches = microbatches, .transfer_ns = 0};
      CHECK(longest_path_ns(one_f_one_b(pipeline)) ==
            (microbatches + ranks - 1) * std::uint64_t{6'000'000});
      pipeline.transfer_ns = 50'000;
      const GpuProgram program = one_f_one_b(pipeline);
      CHECK(program.tasks.size() == std::size_t{2} * microbatches * (2 * ranks - 1));
      for (const GpuOrdering ordering : pipelined) {
        const FakeGpu gpu;
        CHECK(makespan_ns(run_of(gpu, program, ordering)) == longest_path_ns(program));
      }
    }
  }
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
  const GpuDevice device(gpu.calls(), 2, 1);
  GpuExecutor executor(device, two_ranks(), {});
  executor.run();
  const auto seen = executor.actions().sms_seen();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].size() == 64);
  CHECK(seen[0].front() == 0);
  CHECK(seen[1].size() == 64);
  CHECK(seen[1].front() == 64);
}

TEST_CASE("gpu executor: a failed launch names pass, stage, rank and slot") {
  FakeGpu gpu;
  GpuProgram program = two_ranks();
  program.bodies = {{GpuWork::spin, 0, GpuPass::forward, 3}};
  program.tasks.front().slot = 2;
  gpu.failing_launch = 0;
  const std::string error =
      refused_with<std::exception>([&] { run_of(gpu, program, GpuOrdering::host_issued); });
  const std::string rank = std::to_string(program.tasks.front().lane);
  CHECK(says(error, "; task 0, forward of stage 3 on rank " + rank + " in slot 2, spin"));
}

TEST_CASE("gpu executor: what it was handed out it gives back, also when a launch fails") {
  for (const GpuOrdering ordering : pipelined) {
    FakeGpu gpu;
    run_of(gpu, two_ranks(), ordering);
    CHECK(gpu.handed_out.empty());
    const bool graphs = ordering == GpuOrdering::host_graphs;  // these are captured before
    gpu.failing_launch = static_cast<int>(gpu.launches) + (graphs ? 2 : 3);
    const std::string error =
        refused_with<std::exception>([&] { run_of(gpu, two_ranks(), ordering); });
    CHECK(error.find(graphs ? "launching task 2: cudaErrorLaunchFailure (719), at "
                              "validate/backends/cuda/running/gpu_executor.cpp:"
                            : "launching task 3: cudaErrorLaunchFailure (719), at "
                              "validate/backends/cuda/running/gpu_executor.cpp:") == 0);
    CHECK(gpu.handed_out.empty());
  }
}

// What SMs were seen takes 1 KiB a rank.
TEST_CASE("gpu executor: memory that is missing is an error that says how much") {
  FakeGpu gpu;
  gpu.memory_bytes = 2048;
  const std::string error =
      refused_with<std::exception>([&] { run_of(gpu, two_ranks(), GpuOrdering::host_issued); });
  CHECK(error.find("allocating, in KiB, 2: cudaErrorMemoryAllocation (2), at ") == 0);
  CHECK(gpu.handed_out.empty());
}

// Two tensors of 3 MiB, each in a buffer of 4 MiB: the second is made while the first is sent, so
// there are two at each end. Of 8 MiB links may have a sixteenth.
TEST_CASE("gpu executor: buffers take their share of the memory that is free") {
  FakeGpu gpu;
  gpu.memory_bytes = 8 << 20;
  GpuProgram program = two_ranks();
  program.tasks[3].bytes = 3 << 20;
  const GpuDevice device(gpu.calls(), program.ranks, program.links);
  GpuExecutor executor(device, program, {});
  CHECK(gpu.used_bytes > 256 << 10);
  CHECK(gpu.used_bytes < (512 << 10) + 8192);
  CHECK(makespan_ns(executor.run()) == longest_path_ns(program));
}

// All that a failed kernel leaves is an error of each later call.
TEST_CASE("gpu executor: a kernel that fails while it runs is an error of the run") {
  for (const GpuOrdering ordering : pipelined) {
    FakeGpu gpu;
    gpu.failing_kernel = 2;
    CHECK(says(refused_with<std::exception>([&] { run_of(gpu, two_ranks(), ordering); }),
               "cudaErrorLaunchFailure (719)"));
    CHECK(gpu.handed_out.empty());
  }
}

TEST_CASE("gpu executor: a program in which a task precedes what it waits for is refused") {
  const FakeGpu gpu;
  GpuProgram program = two_ranks();
  program.tasks[2].inputs = {4};
  CHECK(refused_with<std::exception>([&] { run_of(gpu, program, GpuOrdering::host_issued); }) ==
        "a task precedes one of its inputs");
}

// Each rank has one body and one slot: a graph for each, launched twice a run; two runs.
TEST_CASE("gpu executor: actions with the same body and buffers share one graph") {
  const FakeGpu gpu;
  const auto graphs = action_graphs(two_ranks());
  REQUIRE(graphs.size() == 2);
  CHECK(graphs[0].tasks == std::vector<std::uint32_t>{0, 1});
  CHECK(graphs[1].tasks == std::vector<std::uint32_t>{4, 5});
  run_of(gpu, two_ranks(), GpuOrdering::host_graphs);
  CHECK(gpu.launches == 2 + 2 * 2);  // captured actions, and the transfers of two runs
  CHECK(gpu.graph_launches == 2 * 4);
}

// 1F1B holds min(m, p - rank) activations: 4, 3, 2 and 1 of 8; F and B each have a graph per slot.
TEST_CASE(
    "gpu executor: there are as many graphs of a stage as activations it holds, for each pass") {
  std::map<std::uint32_t, std::uint32_t> by_rank;
  for (const auto& graph : action_graphs(one_f_one_b({.ranks = 4, .microbatches = 8}))) {
    ++by_rank[graph.lane];
  }
  CHECK(by_rank == std::map<std::uint32_t, std::uint32_t>{{0, 8}, {1, 6}, {2, 4}, {3, 2}});
}

TEST_CASE("gpu executor: without stamps a run takes its time, and nobody stamps") {
  for (const GpuOrdering ordering : pipelined) {
    const FakeGpu gpu;
    const GpuProgram program = one_f_one_b({.ranks = 3, .microbatches = 5});
    const GpuDevice device(gpu.calls(), program.ranks, program.links);
    GpuExecutor stamped(device, program, {.ordering = ordering});
    GpuExecutor bare(device, program, {.ordering = ordering, .stamped = false});
    const GpuRun run = bare.run();
    CHECK(run.elapsed_ns == doctest::Approx(stamped.run().elapsed_ns));
    CHECK(run.begin_ns.front() == UINT64_MAX);
    CHECK(run.end_ns.front() == 0);
  }
}

// Every stamp adds 60 us to an action of 2 or 4 ms: 2 % of the three of 6 ms in the path of F and
// B.
TEST_CASE("gpu trials: what stamps and the host cost is measured") {
  for (const GpuOrdering ordering : pipelined) {
    FakeGpu gpu;
    gpu.stamp_ns = 60'000;
    const GpuProgram program = one_f_one_b({.ranks = 2, .microbatches = 16, .transfer_ns = 0});
    const GpuDevice device(gpu.calls(), program.ranks, program.links);
    const GpuOverheads costs = measure_overheads(device, program, {.ordering = ordering}, 3);
    CHECK(costs.stamps == doctest::Approx(0.02).epsilon(0.01));
    CHECK(costs.host_effect.value() == doctest::Approx(0).epsilon(1e-5));
  }
}

TEST_CASE("gpu trials: a graph that cannot be made for comparison leaves the rest measured") {
  FakeGpu gpu;
  gpu.stamp_ns = 60'000;
  const GpuProgram program = one_f_one_b({.ranks = 2, .microbatches = 16, .transfer_ns = 0});
  const GpuDevice device(gpu.calls(), program.ranks, program.links);
  REQUIRE(device.why_no_graph().empty());
  gpu.capture_error = 801;
  const GpuOverheads costs =
      measure_overheads(device, program, {.ordering = GpuOrdering::host_issued}, 3);
  CHECK(costs.stamps == doctest::Approx(0.02).epsilon(0.01));
  CHECK_FALSE(costs.host_effect);
  CHECK(says(costs.why_no_effect, "cudaErrorNotSupported (801)"));
}

TEST_CASE("gpu trials: a copy that moves nothing is found by the contents of its tensor") {
  for (const GpuOrdering ordering : pipelined) {
    for (const GpuLinkKind kind : {GpuLinkKind::paced, GpuLinkKind::host}) {
      FakeGpu gpu;
      const GpuProgram program = one_f_one_b({.ranks = 4, .microbatches = 8});
      const GpuDevice device(gpu.calls(), program.ranks, program.links);
      const GpuRunSetup setup{.ordering = ordering, .links = kind};
      CHECK(wrong_transfers(device, program, setup).empty());
      CHECK(gpu.hazards == 0);
      CHECK(gpu.early_reads == 0);
      gpu.lost_copy = static_cast<int>(gpu.copies) + 9;
      CHECK(wrong_transfers(device, program, setup).size() == 1);
    }
  }
}

// Through the host, a transfer is two copies of 100 ns, whatever its link would take.
TEST_CASE("gpu executor: transfers through host memory take the time of the copy engines") {
  for (const GpuOrdering ordering : pipelined) {
    FakeGpu gpu;
    gpu.engine_ns = 100;
    GpuProgram program = two_ranks();
    for (GpuTask& task : program.tasks) task.latency_ns = 0;
    const GpuDevice device(gpu.calls(), program.ranks, program.links);
    GpuExecutor executor(device, program, {.ordering = ordering, .links = GpuLinkKind::host});
    const GpuRun run = executor.run();
    CHECK(run.end_ns[2] - run.begin_ns[2] == 200);
    CHECK(run.begin_ns[3] == run.end_ns[2]);
    CHECK(run.begin_ns[5] == run.end_ns[3]);
    CHECK(gpu.copies == 4);
  }
}

// A rank of 32 SMs does 32 words a nanosecond; a multiply-add of each thread takes one.
TEST_CASE("gpu amounts: actions do as much as takes their time alone") {
  for (const GpuWork work : {GpuWork::flops, GpuWork::bytes}) {
    const FakeGpu gpu;
    GpuProgram program = one_f_one_b({.ranks = 4, .microbatches = 4, .forward_ns = 64'000});
    for (GpuTask& task : program.tasks) {
      if (!program.is_transfer(task)) task.body += 2 * task.lane;
    }
    const GpuDevice device(gpu.calls(), program.ranks, program.links);
    give_amounts(device, work, program);
    REQUIRE(program.bodies.size() == 8);
    CHECK(program.bodies[0].amount == (work == GpuWork::flops ? 64'000 : 32 * 64'000));
    CHECK(program.bodies[1].amount == 2 * program.bodies[0].amount);
    GpuExecutor executor(device, program, {});
    CHECK(makespan_ns(executor.run()) == longest_path_ns(program));
  }
}

namespace {

/// F and B of each rank, of small layers.
GpuProgram layered_program(std::uint32_t ranks) {
  GpuProgram program = one_f_one_b({.ranks = ranks, .microbatches = 4, .forward_ns = 500});
  for (GpuTask& task : program.tasks) {
    if (!program.is_transfer(task)) task.body += 2 * task.lane;
  }
  for (std::uint32_t body = 0; body < 2 * ranks; ++body) {
    program.bodies.push_back({.pass = body % 2 == 0 ? GpuPass::forward : GpuPass::backward});
  }
  program.sizes = tiny_layers;
  return program;
}

}  // namespace

// F and B of a stage ask for 1.5 us together; a layer takes far less on the fake GPU.
TEST_CASE("gpu amounts: a stage has the layers whose passes take the time of its own") {
  for (const GpuLayerKind& kind : layer_kinds()) {
    for (const GpuOrdering ordering : pipelined) {
      FakeGpu gpu;
      gpu.most_work = 0;
      GpuProgram program = layered_program(2);
      const GpuDevice device(gpu.calls(), program.ranks, program.links);
      give_amounts(device, kind.work, program);
      REQUIRE(program.bodies.size() == 4);
      CHECK(program.bodies[0].work == kind.work);
      CHECK(program.bodies[0].amount > 10);
      CHECK(program.bodies[0].amount == program.bodies[1].amount);
      const std::uint64_t taken = program.tasks[0].duration_ns + program.tasks.back().duration_ns;
      CHECK(static_cast<double>(taken) == doctest::Approx(1500).epsilon(0.02));
      GpuExecutor executor(device, program, {.ordering = ordering});
      CHECK(makespan_ns(executor.run()) == longest_path_ns(program));
      CHECK(executor.actions().algorithms() != 0);
    }
  }
}

}  // namespace penstock::testing
