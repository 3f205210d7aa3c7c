#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/engines/events.hpp"
#include "tests/support/ruled_system.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// The case on which simulators are compared: 1f1b, F 1 ms, B 2 ms, 8 MiB activations and
/// gradients, one link each way between neighbours, 2 us latency. The makespan in seconds, to the
/// nanosecond.
std::string makespan_s(std::uint32_t ranks, std::uint32_t microbatches, double bytes_per_s) {
  Layer stage = stage_of(1000, 2000);
  stage.activation_bytes = 8.0 * 1024 * 1024;
  System system = system_of("1f1b", {ranks, 1, microbatches}, stage);
  system.hardware = link(2, bytes_per_s);
  const Plan plan = lowered(system);
  const Timeline timeline = relax({plan, priced(system, plan)});
  return fmt::format("{:.9f}", to_us(makespan(plan, timeline)) * 1e-6);
}

}  // namespace

TEST_CASE("the case that simulators are compared on comes out to every printed digit") {
  CHECK(makespan_s(4, 8, 25e9) == "0.038400709");
  CHECK(makespan_s(16, 256, 25e9) == "0.984472515");
  CHECK(makespan_s(64, 1024, 25e9) == "3.983344845");
  CHECK(makespan_s(64, 4096, 25e9) == "15.240812892");
}

TEST_CASE("and so it does with links of 25 GiB/s, on which a transfer takes 312.5 us exactly") {
  constexpr double gib = 1024.0 * 1024 * 1024;
  CHECK(makespan_s(4, 8, 25 * gib) == "0.038032000");
  CHECK(makespan_s(16, 256, 25 * gib) == "0.972766000");
  CHECK(makespan_s(64, 1024, 25 * gib) == "3.934030000");
}

}  // namespace penstock::testing
