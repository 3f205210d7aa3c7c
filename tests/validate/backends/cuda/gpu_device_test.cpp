#include "validate/backends/cuda/gpu_device.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "tests/support/fake_gpu.hpp"
#include "validate/backends/cuda/measuring/gpu_probes.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"
#include "validate/backends/cuda/running/gpu_executor.hpp"

namespace penstock::testing {
namespace {

/// "4 x 32, 4 left", or why there are none.
std::string shares_text(const FakeGpu& gpu, std::uint32_t ranks) {
  const SmShares shares = share_sms(gpu.calls(), ranks);
  if (shares.ranks.empty()) return shares.why_unpartitioned;
  for (const SmShare& rank : shares.ranks) CHECK(rank.sms == shares.ranks.front().sms);
  std::ostringstream text;
  text << shares.ranks.size() << " x " << shares.ranks.front().sms << ", " << shares.links.sms
       << " left";
  return text.str();
}

std::string no_gpu_text(const FakeGpu& gpu) {
  return why_no_gpu(gpu.calls()).value_or("there is one");
}

/// Why a device of two ranks has plain streams, up to where that was found; these must do.
std::string why_plain(const FakeGpu& gpu) {
  const GpuProgram program = one_f_one_b({.ranks = 2, .microbatches = 3});
  const GpuDevice device(gpu.calls(), program.ranks, program.links);
  for (const GpuOrdering ordering : {GpuOrdering::host_issued, GpuOrdering::graph}) {
    CHECK(GpuExecutor(device, program, {.ordering = ordering}).run().end_ns.size() ==
          program.tasks.size());
  }
  const std::string& why = device.shares().why_unpartitioned;
  return why.substr(0, why.find(", at "));
}

}  // namespace

// An H200 has 132 SMs, given out in eights: 132 / 4 = 33, so 32 each, and 4 remain.
TEST_CASE("gpu shares: ranks have the same number of SMs, and links what is left") {
  const FakeGpu gpu;
  CHECK(shares_text(gpu, 1) == "1 x 128, 4 left");
  CHECK(shares_text(gpu, 2) == "2 x 64, 4 left");
  CHECK(shares_text(gpu, 3) == "3 x 40, 12 left");
  CHECK(shares_text(gpu, 4) == "4 x 32, 4 left");
  CHECK(shares_text(gpu, 8) == "8 x 16, 4 left");
  CHECK(shares_text(gpu, 16) == "16 x 8, 4 left");
}

// 128 / 4 = 32 would leave none: 24 each, and 32 remain.
TEST_CASE("gpu shares: where an even split leaves no SM for links, ranks have fewer") {
  FakeGpu gpu;
  gpu.sms = 128;
  CHECK(shares_text(gpu, 4) == "4 x 24, 32 left");
}

TEST_CASE("gpu shares: where SMs cannot be split, it says why") {
  FakeGpu gpu;
  CHECK(shares_text(gpu, 17) ==
        "132 SMs for 17 ranks: with some left for links, a rank would have fewer than 8");
  CHECK(shares_text(gpu, 0) ==
        "132 SMs for 0 ranks: with some left for links, a rank would have fewer than 8");
  gpu.most_groups = 3;
  CHECK(shares_text(gpu, 4) == "132 SMs for 4 ranks: the driver makes only 3 groups of 32");
  gpu.split_error = 801;
  CHECK(shares_text(gpu, 4) == "splitting 132 SMs for 4 ranks: cudaErrorNotSupported (801)");
  gpu.has_green_contexts = false;
  CHECK(shares_text(gpu, 4) == "the driver has no green contexts");
}

// Seen on an H200, whose clusters of SMs are no multiples of 8: 15 groups of 8 for work 1 : 2 : 5
// are 1.9, 3.8 and 9.4 of them.
TEST_CASE("gpu shares: where the driver makes fewer groups than fit, ranks share those") {
  FakeGpu gpu;
  gpu.most_groups = 15;
  const SmShares shares = share_sms(gpu.calls(), 3, {1, 2, 5});
  REQUIRE(shares.ranks.size() == 3);
  CHECK(shares.ranks[0].sms == 16);
  CHECK(shares.ranks[1].sms == 32);
  CHECK(shares.ranks[2].sms == 72);
  CHECK(shares.links.sms == 12);
  CHECK(shares_text(gpu, 16) == "132 SMs for 16 ranks: the driver makes only 15 groups of 8");
}

// 16 groups of 8 for work 1 : 2 : 5 are 2, 4 and 10 of them. For 1 : 1 : 1.2 they are 5, 5 and 6:
// the even share, 5.33, is off by 0.67 of a group at most.
TEST_CASE("gpu shares: ranks that differ in work have SMs in proportion to it") {
  const FakeGpu gpu;
  const auto sms = [&](const std::vector<double>& work) {
    const auto count = static_cast<std::uint32_t>(work.size());
    const SmShares shares = share_sms(gpu.calls(), count, work);
    std::vector<std::uint32_t> all;
    for (const SmShare& rank : shares.ranks) all.push_back(rank.sms);
    CHECK(shares.links.sms >= 4);
    return all;
  };
  using Sms = std::vector<std::uint32_t>;
  CHECK(sms({1, 2, 5}) == Sms{16, 32, 80});
  CHECK(sms({1, 1, 1.2}) == Sms{40, 40, 48});
  CHECK(sms({1, 1, 1.05}) == Sms{40, 40, 40});
  CHECK(sms({4, 4, 4, 4}) == Sms{32, 32, 32, 32});
  CHECK(sms({0, 0}) == Sms{64, 64});
}

// Of 10 units 3 : 3 : 1 are 4.29, 4.29 and 1.43: 4, 4, 1, and the last one goes to the largest
// rest. Of 4 units 97 : 1 : 1 : 1 are 3.88 and three times 0.04: each rank has one at least.
TEST_CASE("gpu shares: what is left over goes to the largest remainders, and none goes without") {
  using Units = std::vector<std::uint32_t>;
  CHECK(units_by_work(10, {3, 3, 1}) == Units{4, 4, 2});
  CHECK(units_by_work(4, {97, 1, 1, 1}) == Units{1, 1, 1, 1});
  CHECK(units_by_work(6, {97, 1, 1, 1}) == Units{3, 1, 1, 1});
  CHECK(units_by_work(16, {1, 1, 1}) == Units{6, 5, 5});
  CHECK(units_by_work(16, {5}) == Units{16});
  CHECK(units_by_work(2, {1, 1, 1}).empty());
  CHECK(units_by_work(2, {}).empty());
  CHECK(units_by_work(2, {0, 0}).empty());
  for (std::uint32_t units = 5; units < 40; ++units) {
    std::uint32_t all = 0;
    for (const std::uint32_t own : units_by_work(units, {0.1, 7, 2, 2, 30})) all += own;
    CHECK(all == units);
  }
}

TEST_CASE("gpu device: a rank with several groups is one green context") {
  const FakeGpu gpu;
  const GpuDevice device(gpu.calls(), 2, 2, {1, 3});
  CHECK(device.sms_of_rank(0) == 32);
  CHECK(device.sms_of_rank(1) == 96);
  CHECK(gpu.handed_out.size() == 3 + 4 + 1);  // contexts, lanes, the conductor
}

// 4 SMs of 2048 threads. 6 links: two on an SM, a block is 1024 threads at most. 14 links: four on
// an SM, 512 threads each. 2 links: two blocks each, one on an SM.
TEST_CASE("gpu shares: copies of all links have room beside each other") {
  const auto engine = [](std::uint32_t links) {
    const LinkEngine made = link_engine(links, 4, 2048);
    return std::pair(made.blocks, made.threads);
  };
  CHECK(engine(2) == std::pair(2U, 1024U));
  CHECK(engine(6) == std::pair(1U, 1024U));
  CHECK(engine(14) == std::pair(1U, 512U));
  CHECK(engine(1000) == std::pair(1U, 32U));
  for (std::uint32_t links = 1; links <= 64; ++links) {
    const auto [blocks, threads] = engine(links);
    CHECK(links * blocks * threads <= 4 * 2048);
  }
}

TEST_CASE("gpu: where there is none, it says what there is instead") {
  FakeGpu gpu;
  CHECK(no_gpu_text(gpu) == "there is one");
  gpu.devices = 0;
  CHECK(no_gpu_text(gpu) == "no GPU: the driver sees none");
  gpu.devices_error = 35;
  gpu.driver = 0;
  CHECK(no_gpu_text(gpu) == "no GPU: no NVIDIA driver, cudaErrorInsufficientDriver (35)");
  gpu.devices_error = 100;
  CHECK(no_gpu_text(gpu) == "no GPU: the driver sees none, cudaErrorNoDevice (100)");
  gpu.devices_error = 999;
  CHECK(no_gpu_text(gpu) == "no GPU: cudaErrorUnknown (999)");
}

// A build with CUDA 12.6 runs with every driver of CUDA 12.
TEST_CASE("gpu: a driver that is too old for this CUDA is no missing GPU") {
  FakeGpu gpu;
  gpu.devices_error = 35;
  gpu.driver = 11080;
  CHECK(no_gpu_text(gpu) ==
        "the NVIDIA driver is of CUDA 11.8, and this build needs 12.0 or newer: update the driver");
  gpu.runtime = 13020;
  gpu.driver = 12000;
  CHECK(no_gpu_text(gpu) ==
        "the NVIDIA driver is of CUDA 12.0, and this build needs 13.0 or newer: update the driver, "
        "or build with CUDA 12.5 or a newer 12.x");
}

TEST_CASE("gpu device: each rank and each directed link has a stream of its own") {
  const FakeGpu gpu;
  const GpuDevice device(gpu.calls(), 4, 6);
  CHECK(device.mode() == "green_contexts");
  CHECK(device.sms_of_rank(0) == 32);
  CHECK(device.links().threads == 1024);
  std::set<GpuStream> streams{device.conductor()};
  for (std::uint32_t lane = 0; lane < device.lanes(); ++lane) streams.insert(device.lane(lane));
  CHECK(streams.size() == 11);
}

TEST_CASE("gpu device: without green contexts ranks share all SMs, and it says so") {
  FakeGpu gpu;
  gpu.has_green_contexts = false;
  const GpuDevice device(gpu.calls(), 4, 6);
  CHECK(device.mode() == "streams_unpartitioned");
  CHECK(device.shares().why_unpartitioned == "the driver has no green contexts");
  CHECK(device.lanes() == 10);
  CHECK(device.sms_of_rank(0) == 33);
}

TEST_CASE("gpu device: a green context that cannot be made leaves plain streams, and why") {
  FakeGpu gpu;
  gpu.context_error = 801;
  const GpuDevice device(gpu.calls(), 4, 6);
  CHECK(device.mode() == "streams_unpartitioned");
  CHECK(device.lanes() == 10);
  CHECK(device.shares().why_unpartitioned.find("making a green context, its SMs: 32: "
                                               "cudaErrorNotSupported (801), at "
                                               "validate/backends/cuda/gpu_owners.cpp:") == 0);
}

// The fake GPU takes an event on streams of its own context alone, as cuEventRecord does.
TEST_CASE("gpu device: an event of a lane is of the context of that lane") {
  const FakeGpu gpu;
  const GpuCalls calls = gpu.calls();
  const GpuDevice device(calls, 4, 6);
  const auto recorded = [&](std::uint32_t event, std::uint32_t lane) {
    return calls.record(device.make_event_of(event).get(), device.lane(lane)) == 0;
  };
  for (std::uint32_t lane = 0; lane < device.lanes(); ++lane) CHECK(recorded(lane, lane));
  CHECK_FALSE(recorded(0, 1));
  CHECK_FALSE(recorded(3, 4));
  CHECK(recorded(4, 9));  // links have one context
}

// Lanes 0 and 1 are the ranks. A capture of one that was refused must not stay open.
TEST_CASE("gpu device: lanes that may not wait for each other leave plain streams, and why") {
  FakeGpu gpu;
  CHECK(why_plain(gpu) == "");
  gpu.record_error = 400;
  CHECK(why_plain(gpu) == "trying an event on lane 0: cudaErrorInvalidResourceHandle (400)");
  gpu.wait_error = 801;
  CHECK(why_plain(gpu) == "trying to wait on lane 0: cudaErrorNotSupported (801)");
  CHECK(gpu.handed_out.empty());
  CHECK(gpu.origin == nullptr);
}

TEST_CASE(
    "gpu device: without a capture of all lanes ranks keep their SMs, and there is no graph") {
  FakeGpu gpu;
  const GpuCalls calls = gpu.calls();
  CHECK(GpuDevice(calls, 2, 1).why_no_graph().empty());
  gpu.capture_error = 801;
  {
    const GpuDevice device(calls, 2, 1);
    CHECK(device.is_partitioned());
    CHECK(device.why_no_graph().find(
              "trying to wait on lane 0: cudaErrorNotSupported (801), at ") == 0);
  }
  CHECK(gpu.handed_out.empty());
  CHECK(gpu.origin == nullptr);
}

// 16 groups of 8, of which ranks have 15 at most: 7, 3 and 1 each.
TEST_CASE("gpu device: where the remainder is refused, links run on groups of their own") {
  FakeGpu gpu;
  gpu.refuses_remainder = true;
  const GpuCalls calls = gpu.calls();
  for (const auto& [ranks, sms] : {std::pair{2U, 56U}, {4U, 24U}, {8U, 8U}}) {
    const GpuDevice device(calls, ranks, 2 * (ranks - 1));
    REQUIRE(device.is_partitioned());
    CHECK(device.sms_of_rank(0) == sms);
    CHECK(device.shares().links.sms == 128 - ranks * sms);
    CHECK(device.why_no_graph().empty());
  }
  const GpuDevice uneven(calls, 2, 2, {1, 4});
  CHECK(uneven.sms_of_rank(0) == 24);
  CHECK(uneven.sms_of_rank(1) == 96);
  CHECK(uneven.shares().links.sms == 8);
  CHECK(GpuDevice(calls, 2, 0).sms_of_rank(0) == 64);  // without links nobody asks for the rest
  const GpuDevice none(calls, 16, 30);
  CHECK_FALSE(none.is_partitioned());
  CHECK(none.shares().why_unpartitioned.find("making a green context, its SMs: 4: ") == 0);
  gpu.refuses_remainder = false;
}

// In a process of its own, which it ends.
TEST_CASE("gpu device: a kernel that never ends ends the process, and it says at what") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    FakeGpu gpu;
    gpu.hung_kernel = 0;
    const GpuProgram program = one_f_one_b({.ranks = 2, .microbatches = 1});
    const GpuDevice device(gpu.calls(), 2, program.links, {}, "", std::chrono::milliseconds(100));
    GpuExecutor(device, program, {}).run();
    _exit(0);
  }
  close(ends[1]);
  std::string text(1000, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(read(ends[0], text.data(), 1000), 0)));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == hung_exit);
  CHECK(text == "penstock: error: running all tasks: no end after 0.1 s; the process ends\n");
}

TEST_CASE("gpu device: with a reason not to divide SMs, lanes are plain streams") {
  const FakeGpu gpu;
  const GpuDevice device(gpu.calls(), 1, 2, {}, "one rank has the whole GPU");
  CHECK_FALSE(device.is_partitioned());
  CHECK(device.sms_of_rank(0) == 132);
  CHECK(device.shares().why_unpartitioned == "one rank has the whole GPU");
}

TEST_CASE("gpu device: what it was handed out it gives back") {
  const FakeGpu gpu;
  {
    const GpuDevice device(gpu.calls(), 4, 6);
    CHECK(gpu.handed_out.size() == 5 + 10 + 1);  // contexts, lanes, the conductor
  }
  CHECK(gpu.handed_out.empty());
}

// CUDA has 8 where nothing is set, and 32 at most.
TEST_CASE("gpu queues: there are as many as the setting says, where it is one") {
  CHECK(hardware_queues("1") == 1);
  CHECK(hardware_queues("32") == 32);
  CHECK(hardware_queues("1000") == 32);
  CHECK(hardware_queues("99999999999999999999") == 32);
  CHECK(hardware_queues(nullptr) == 8);
  for (const char* none : {"", "0", "-4", "many", "16x"}) CHECK(hardware_queues(none) == 8);
}

TEST_CASE("gpu probes: the step of a clock is how far unlike readings are apart") {
  const FakeGpu gpu;
  const GpuDevice device(gpu.calls(), 1, 0);
  const ClockStep step = clock_step(device);
  CHECK(step.least_ns == 32);
  CHECK(step.median_ns == 32);
  launch_costs(device);
  CHECK(gpu.graph_launches > 0);
  CHECK(gpu.handed_out.size() == 3);
}

}  // namespace penstock::testing
