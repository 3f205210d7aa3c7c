// What CUDA refuses, the fake GPU refuses too: each rule is of the named call's documentation.
#include "tests/support/fake_gpu.hpp"

#include <doctest/doctest.h>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock::testing {
namespace {

constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int invalid_configuration = 9;
constexpr int invalid_handle = 400;
constexpr int not_ready = 600;
constexpr int launch_failure = 719;
constexpr int capture_unsupported = 900;
constexpr int capture_invalidated = 901;
constexpr int captured_event = 907;
constexpr int no_algorithm = 20'015;

/// A fake GPU, with its calls and a stream.
struct Fixture {
  FakeGpu gpu;
  GpuCalls calls = gpu.calls();
  GpuOwner<GpuStreamTag> stream = make_stream(calls);
  GpuOwner<void> memory = make_memory(calls, 4096);

  /// One task, which takes no time.
  GpuActionKernel kernel(std::uint32_t blocks, std::uint32_t threads) {
    auto* const stamps = static_cast<std::uint64_t*>(memory.get());
    GpuActionKernel one{};
    one.task = {stamps,  stamps + 8, reinterpret_cast<const GpuTaskRecord*>(stamps + 16),
                nullptr, 0,          false,
                nullptr, nullptr};
    one.blocks = blocks;
    one.threads = threads;
    one.sms_seen = static_cast<unsigned char*>(memory.get()) + 1024;
    return one;
  }

  /// The error of a call in a capture, which that call ends.
  template <class Call>
  int in_capture(const Call& call) {
    REQUIRE(calls.begin_capture(stream.get()) == 0);
    const int error = call();
    GpuGraph graph = nullptr;
    CHECK(calls.end_capture(stream.get(), &graph) == capture_invalidated);
    return error;
  }
};

}  // namespace

// cudaMalloc: cudaErrorMemoryAllocation once all is taken; what is freed can be had again.
TEST_CASE_FIXTURE(Fixture, "fake gpu: memory runs out") {
  gpu.memory_bytes = 10'000;
  GpuFacts facts;
  calls.facts(&facts);
  CHECK(facts.free_bytes == 10'000 - 4096);
  void* first = nullptr;
  void* second = nullptr;
  CHECK(calls.allocate(&first, 5000) == 0);
  CHECK(calls.allocate(&second, 5000) == out_of_memory);
  CHECK(calls.free_memory(first) == 0);
  CHECK(calls.allocate(&second, 5000) == 0);
  CHECK(calls.free_memory(second) == 0);
  CHECK(calls.free_memory(&second) == invalid_value);
}

// cudaMemcpy, cudaMemsetAsync: cudaErrorInvalidValue beyond an allocation.
TEST_CASE_FIXTURE(Fixture, "fake gpu: copies stay within allocations") {
  std::byte bytes[16] = {};
  auto* const last = static_cast<std::byte*>(memory.get()) + 4090;
  CHECK(calls.write(last, bytes, 6) == 0);
  CHECK(calls.write(last, bytes, 7) == invalid_value);
  CHECK(calls.read(bytes, last, 7) == invalid_value);
  CHECK(calls.fill(last, 0, 7, stream.get()) == invalid_value);
  CHECK(calls.copy_within(memory.get(), last, 7, stream.get()) == invalid_value);
}

// cudaThreadExchangeStreamCaptureMode: calls that a capture would miss are refused and end it.
TEST_CASE_FIXTURE(Fixture,
                  "fake gpu: a capture allows neither memory, copies of the host nor waits") {
  void* more = nullptr;
  std::byte byte{};
  CHECK(in_capture([&] { return calls.allocate(&more, 8); }) == capture_unsupported);
  CHECK(in_capture([&] { return calls.allocate_pinned(&more, 8); }) == capture_unsupported);
  CHECK(in_capture([&] { return calls.write(memory.get(), &byte, 1); }) == capture_unsupported);
  CHECK(in_capture([&] { return calls.read(&byte, memory.get(), 1); }) == capture_unsupported);
  CHECK(in_capture([&] { return calls.synchronize(stream.get()); }) == capture_unsupported);
  REQUIRE(calls.allocate(&more, 8) == 0);
  CHECK(in_capture([&] { return calls.free_memory(more); }) == capture_unsupported);
}

// A library loads the kernels of an algorithm at its first launch, which a capture does not allow.
TEST_CASE_FIXTURE(Fixture, "fake gpu: a matrix product is captured only after a first launch") {
  GpuProduct product = nullptr;
  const GpuProductShape shape{4, 4, 4, 132};
  const GpuProductMemory matrices{memory.get(), memory.get(), memory.get(), nullptr};
  const auto run = [&] { return calls.launch_product(stream.get(), product, matrices); };
  CHECK(in_capture([&] { return calls.make_product(&product, shape); }) == capture_unsupported);
  REQUIRE(calls.make_product(&product, shape) == 0);
  CHECK(in_capture(run) == capture_unsupported);
  CHECK(run() == 0);
  const auto graph = captured(calls, stream.get(), [&] { CHECK(run() == 0); });
  CHECK(calls.free_product(product) == 0);
}

// cublasLtMatmulAlgoGetHeuristic may find none.
TEST_CASE_FIXTURE(Fixture, "fake gpu: the library refuses a shape") {
  gpu.most_product_rows = 100;
  GpuProduct product = nullptr;
  CHECK(calls.make_product(&product, {101, 4, 4, 132}) == no_algorithm);
}

// cudaErrorCapturedEvent; cudaEventElapsedTime wants events with a time that were recorded and have
// been reached.
TEST_CASE_FIXTURE(Fixture, "fake gpu: an event of a capture is none outside it") {
  const auto event = make_event(calls);
  const auto timer = make_timer(calls);
  float ms = 0;
  CHECK(calls.elapsed(&ms, timer.get(), timer.get()) == invalid_handle);
  const auto graph =
      captured(calls, stream.get(), [&] { CHECK(calls.record(event.get(), stream.get()) == 0); });
  CHECK(calls.wait(stream.get(), event.get()) == captured_event);
  CHECK(calls.record(event.get(), stream.get()) == 0);
  CHECK(calls.wait(stream.get(), event.get()) == 0);
  CHECK(calls.elapsed(&ms, event.get(), event.get()) == invalid_handle);
  CHECK(calls.fill(memory.get(), 0, 8, stream.get()) == 0);
  CHECK(calls.record(timer.get(), stream.get()) == 0);
  CHECK(calls.elapsed(&ms, timer.get(), timer.get()) == not_ready);
  CHECK(calls.synchronize(stream.get()) == 0);
  CHECK(calls.elapsed(&ms, timer.get(), timer.get()) == 0);
}

// cudaLaunchKernel: a grid of no block, or a block of more threads than 1024.
TEST_CASE_FIXTURE(Fixture, "fake gpu: launches have blocks, of 1 to 1024 threads") {
  CHECK(calls.launch_action(stream.get(), kernel(1, 1024)) == 0);
  CHECK(calls.launch_action(stream.get(), kernel(0, 32)) == invalid_configuration);
  CHECK(calls.launch_action(stream.get(), kernel(1, 0)) == invalid_configuration);
  CHECK(calls.launch_action(stream.get(), kernel(1, 1025)) == invalid_configuration);
}

// cudaGetLastError: errors of kernels are asynchronous, and the context does nothing more.
TEST_CASE_FIXTURE(Fixture, "fake gpu: a kernel that fails is known late, and all calls fail then") {
  gpu.failing_kernel = 0;
  CHECK(calls.launch_action(stream.get(), kernel(1, 32)) == 0);
  CHECK(calls.synchronize(stream.get()) == launch_failure);
  CHECK(calls.launch_action(stream.get(), kernel(1, 32)) == launch_failure);
  void* more = nullptr;
  CHECK(calls.allocate(&more, 8) == launch_failure);
}

// cuDevSmResourceSplitByCount: sizes are rounded up to what the device can give.
TEST_CASE_FIXTURE(Fixture, "fake gpu: groups are rounded up") {
  SmGroup all;
  SmGroup left;
  std::vector<SmGroup> groups(20);
  REQUIRE(calls.all_sms(&all) == 0);
  std::uint32_t count = 20;
  CHECK(calls.split_sms(groups.data(), &count, all, &left, 9) == 0);
  CHECK(count == 8);
  CHECK(groups[0].sms == 16);
  CHECK(left.sms == 4);
}

// CUDA_DEVICE_MAX_CONNECTIONS: of two queues each of two streams has one, and the third shares.
TEST_CASE("fake gpu: streams beyond the hardware queues wait for each other") {
  FakeGpu gpu;
  gpu.queues = 2;
  const GpuCalls calls = gpu.calls();
  const auto first = make_stream(calls);
  const auto second = make_stream(calls);
  const auto third = make_stream(calls);
  const auto memory = make_memory(calls, 8);
  const auto end_of = [&](const GpuOwner<GpuStreamTag>& stream) {
    REQUIRE(calls.fill(memory.get(), 0, 8, stream.get()) == 0);
    return gpu.cleared_ns;
  };
  CHECK(end_of(first) == 1000);
  CHECK(end_of(second) == 1000);
  CHECK(end_of(third) == 2000);
}

}  // namespace penstock::testing
