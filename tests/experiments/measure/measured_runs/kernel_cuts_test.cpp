#include <doctest/doctest.h>
#include <malloc.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/rank_ops.hpp"

namespace penstock::testing {
namespace {

constexpr std::uint32_t compute_stream = 7;
constexpr std::uint32_t message_stream = 20;

KinetoWork message(std::int64_t begin_ns, std::int64_t end_ns, KinetoWorkKind kind) {
  return {{begin_ns, end_ns}, 0, message_stream, kind};
}

KinetoWork kernel_from_to(std::int64_t begin_ns, std::int64_t end_ns,
                          std::uint64_t correlation = 0) {
  return {{begin_ns, end_ns}, correlation, compute_stream};
}

/// Bursts of a trace without steps.
std::vector<Burst> bursts_of(const KinetoTrace& trace) {
  const KernelBursts found = kernel_bursts(trace);
  REQUIRE(found.steps.size() == 1);
  return found.steps.at(std::nullopt);
}

/// Kernels of 5 ns every 10 ns in no order, and a send in the pause behind each thousandth.
KinetoTrace long_run(std::int64_t kernels) {
  KinetoTrace trace;
  for (std::int64_t i = 0; i < kernels; ++i) {
    const std::int64_t mixed = i * 77'773 % kernels;
    const auto correlation = static_cast<std::uint64_t>(mixed + 1);
    trace.works.push_back(kernel_from_to(mixed * 10, mixed * 10 + 5, correlation));
    trace.launches.push_back({mixed * 3, correlation, 1});
    const bool last = mixed % 1000 == 999;
    if (last) trace.works.push_back(message(mixed * 10 + 6, mixed * 10 + 9, KinetoWorkKind::send));
  }
  return trace;
}

/// Bytes of this process in memory: "VmRSS" now, "VmHWM" at most.
std::size_t resident_bytes(const std::string& which) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    std::size_t kib = 0;
    if (word == which + ":" && file >> kib) return kib * 1024;
  }
  return 0;
}

/// Makes the most bytes those of now. False where the system does not.
bool forget_most_bytes() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

}  // namespace

// A send begins behind kernel 2, a receive ends in the pause before kernel 4, another beside it.
TEST_CASE("kernel cuts: sends cut for sure, receives maybe, and none while a kernel runs") {
  KinetoTrace trace;
  trace.works = {kernel_from_to(0, 10),
                 kernel_from_to(20, 30),
                 message(30, 45, KinetoWorkKind::send),
                 kernel_from_to(40, 50),
                 message(35, 55, KinetoWorkKind::receive),
                 kernel_from_to(60, 70),
                 message(50, 65, KinetoWorkKind::receive),
                 kernel_from_to(80, 90)};
  const std::vector<Burst> bursts = bursts_of(trace);
  REQUIRE(bursts.size() == 2);
  CHECK(bursts[0].parts == std::vector<KinetoSpan>{{0, 30}});
  CHECK(bursts[1].parts == std::vector<KinetoSpan>{{40, 50}, {60, 90}});
}

TEST_CASE("kernel cuts: an exchange may cut at both ends") {
  KinetoTrace trace{.works = {kernel_from_to(0, 10), message(12, 32, KinetoWorkKind::exchange),
                              kernel_from_to(20, 30), kernel_from_to(40, 50)}};
  const std::vector<Burst> bursts = bursts_of(trace);
  REQUIRE(bursts.size() == 1);
  CHECK(bursts[0].parts == std::vector<KinetoSpan>{{0, 10}, {20, 30}, {40, 50}});
}

TEST_CASE("kernel cuts: another thread cuts, unless a kernel's launch is not in the trace") {
  KinetoTrace trace{
      .works = {kernel_from_to(40, 50, 3), kernel_from_to(0, 10, 1), kernel_from_to(20, 30, 2)},
      .launches = {{1, 1, 0}, {2, 2, 5}, {3, 3, 5}}};
  CHECK(kernel_bursts(trace).facts.threads_known);
  const std::vector<Burst> bursts = bursts_of(trace);
  REQUIRE(bursts.size() == 2);
  CHECK(bursts[0].thread == 0U);
  CHECK(bursts[1].parts == std::vector<KinetoSpan>{{20, 50}});
  trace.works.push_back(kernel_from_to(60, 70));
  CHECK_FALSE(kernel_bursts(trace).facts.threads_known);
  CHECK(bursts_of(trace).size() == 1);
}

TEST_CASE("kernel cuts: a trace that lies on disk is cut as one in memory, in little memory") {
  constexpr std::int64_t count = 400'000;
  const KinetoTrace trace = long_run(count);
  REQUIRE(trace.works.blocks() > 5);
  malloc_trim(0);
  const bool counted = forget_most_bytes();
  const std::size_t before = resident_bytes("VmRSS");
  const std::vector<Burst> bursts = bursts_of(trace);
  const std::size_t most = resident_bytes("VmHWM");
  REQUIRE(bursts.size() == count / 1000);
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    const auto begin = static_cast<std::int64_t>(i) * 10'000;
    REQUIRE(bursts[i].parts == std::vector<KinetoSpan>{{begin, begin + 9'995}});
  }
#ifndef __SANITIZE_ADDRESS__
  // Blocks of three lists; all kernels and launches together are 26 MB.
  if (counted) CHECK(most - before < 16'000'000);
#endif
}

}  // namespace penstock::testing
