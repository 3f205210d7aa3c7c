#include "experiments/run/timing/collective_timing.hpp"

#include <doctest/doctest.h>

#include <string>

#include "experiments/input/catalogue/catalogue.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using Kind = CollectiveKind;

Machine machine(const std::string& name) {
  const Catalogue catalogue = read_catalogue();
  Machine found = machine_of(catalogue, catalogue.at(name));
  if (found.topology) set_topology(found);
  return found;
}

/// The only algorithm of that name for a question.
AlgorithmTiming timing(const std::string& on, const CollectiveQuestion& question,
                       std::string_view algorithm) {
  const CollectiveTimings timings = time_collective(machine(on), question, algorithm);
  REQUIRE(timings.algorithms.size() == 1);
  return timings.algorithms.front();
}

std::string refusal(const std::string& on, const CollectiveQuestion& question,
                    std::string_view algorithm = "") {
  return refused_with<UsageError>([&] { time_collective(machine(on), question, algorithm); });
}

}  // namespace

TEST_CASE("formula and flows of a ring agree but for the latencies of its ways") {
  // 16 devices of two DGX A100, 8 GB: 2 * 15 steps of 500 MB over eight NICs of 22.5 GB/s. Of 16
  // steps of a ring two cross machines, with 6 us in the formula; the others have 1 us. Rounds of
  // flows wait for what crosses, over two PCIe links of 0.6 us and two of InfiniBand of 6 us. Both
  // start after 16 us.
  const AlgorithmTiming ring = timing("dgx-a100", {Kind::all_reduce, 8e9, 16, 1}, "ring");
  const double step = 500e6 / (8 * 22.5e9) * 1e6;
  CHECK(ring.formula_us == doctest::Approx(30 * (step + (2 * 6 + 14 * 1) / 16.0) + 16));
  CHECK(ring.flows_us.value() == doctest::Approx(30 * (step + 2 * 0.6 + 2 * 6) + 16));
}

TEST_CASE("a small collective takes the machine's start, by formula and as flows") {
  // Two devices exchange half of 1 MB twice.
  Machine slow = machine("dgx-h100");
  slow.collective_us = 0;
  const auto ring = [&] {
    return time_collective(slow, {Kind::all_reduce, 1e6, 2, 1}, "ring").algorithms.front();
  };
  const AlgorithmTiming without = ring();
  slow.collective_us = 100;
  CHECK(ring().formula_us - without.formula_us == doctest::Approx(100));
  CHECK(ring().flows_us.value() - without.flows_us.value() == doctest::Approx(100));
}

TEST_CASE("devices that are a machine apart are one in each") {
  // Four members on a rail: 3 steps of 250 MB at 22.5 GB/s.
  const CollectiveTimings timings =
      time_collective(machine("dgx-a100"), {Kind::all_gather, 1e9, 4, 8}, "ring");
  CHECK(timings.call.members.per_machine == 1);
  CHECK(timings.seats == "1 + 1 + 1 + 1");
  const double step = 250e6 / 22.5e9 * 1e6;
  CHECK(timings.algorithms.front().formula_us == doctest::Approx(3 * (step + 6) + 16));
  CHECK(timings.algorithms.front().flows_us.value() ==
        doctest::Approx(3 * (step + 2 * 0.6 + 2 * 6) + 16));
}

TEST_CASE("groups that do not fill machines lie evenly in them, and flows follow") {
  // 35 ms at 64, and no more than four times that at 128: 64 in each of two racks.
  const CollectiveTimings racks =
      time_collective(machine("gb200-nvl72"), {Kind::all_reduce, 16e9, 128, 1, false});
  CHECK(racks.seats == "64 + 64");
  CHECK(racks.call.members.machines() == 2);
  for (const std::uint64_t devices : {10U, 11U, 20U, 27U}) {
    const CollectiveTimings timings =
        time_collective(machine("dgx-h100"), {Kind::all_reduce, 1e9, devices, 1}, "ring");
    CAPTURE(timings.seats);
    const AlgorithmTiming& ring = timings.algorithms.front();
    CHECK(ring.flows_us.value() > 0.9 * ring.formula_us);
    CHECK(ring.flows_us.value() < 1.3 * ring.formula_us);
  }
}

TEST_CASE("links that an algorithm leaves unused are no flows to hold a formula against") {
  // In a DGX-1 a device has no NVLink to every other one, so what is for others is forwarded; in a
  // mesh a tree and a ring exchange take one link of seven.
  CHECK_FALSE(timing("dgx-1", {Kind::all_to_all, 8e9, 8, 1}, "pairwise").flows_us);
  CHECK_FALSE(timing("mi300x-node", {Kind::all_reduce, 8e9, 8, 1}, "tree").flows_us);
  CHECK_FALSE(timing("mi300x-node", {Kind::ring_exchange, 8e9, 8, 1}, "ring").flows_us);
  CHECK_FALSE(timing("mi300x-node", {Kind::all_reduce, 8e9, 16, 1}, "hierarchical").flows_us);
}

TEST_CASE("groups that share NICs run beside each other, as formulas count them") {
  // Two devices share a NIC of 22.5 GB/s: 3 steps of 250 MB at 11.25 GB/s.
  const AlgorithmTiming ring = timing("hgx-a100-4-nics", {Kind::all_gather, 1e9, 4, 8}, "ring");
  const double step = 250e6 / 11.25e9 * 1e6;
  CHECK(ring.flows_us.value() == doctest::Approx(3 * (step + 2 * 0.6 + 2 * 6) + 16));
  CHECK(ring.formula_us == doctest::Approx(3 * (step + 6) + 16));
}

TEST_CASE("flows through several machines go round the rings of each") {
  // Eight MI300X in each of two machines: six of seven links of 48 GB/s carry 8/7 of that, since
  // each member ends a ring, 329 GB/s; their NICs 8 times 43.5, which is what the formula has.
  const AlgorithmTiming ring = timing("mi300x-node", {Kind::all_reduce, 64e9, 16, 1}, "ring");
  CHECK(ring.flows_us.value() / ring.formula_us ==
        doctest::Approx(8 * 43.5 / (6 * 48 * 8 / 7.0)).epsilon(0.01));
}

TEST_CASE("flows go round the rings that direct links have") {
  // Eight devices with 7 links each: three rings each way, 6 of 7 links. With 6 links each, wired
  // as a cube mesh or a torus, three rings each way as well.
  const auto ratio = [](const char* on, Kind kind, std::uint64_t devices, const char* algorithm) {
    const AlgorithmTiming one = timing(on, {kind, 1e9, devices, 1}, algorithm);
    return one.flows_us.value() / one.formula_us;
  };
  for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter}) {
    CHECK(ratio("mi300x-node", kind, 8, "ring") == doctest::Approx(7 / 6.0).epsilon(0.02));
    CHECK(ratio("dgx-1", kind, 8, "ring") == doctest::Approx(1).epsilon(0.02));
    CHECK(ratio("tpu-v4-slice", kind, 64, "ring") == doctest::Approx(1).epsilon(0.02));
    CHECK(ratio("tpu-v2-slice", kind, 16, "ring") == doctest::Approx(1).epsilon(0.02));
    CHECK(ratio("mi250x-node", kind, 4, "ring") == doctest::Approx(1.5).epsilon(0.02));
  }
  CHECK(ratio("mi300x-node", Kind::all_to_all, 8, "pairwise") == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("the bus bandwidth counts what has to be sent whatever the algorithm") {
  const auto bytes = [](Kind kind) { return bus_bytes({kind, 8, {4, 4}, {}}); };
  CHECK(bytes(Kind::all_reduce) == 2 * 6);
  CHECK(bytes(Kind::reduce_scatter) == 6);
  CHECK(bytes(Kind::all_gather) == 6);
  CHECK(bytes(Kind::all_to_all) == 6);
  CHECK(bytes(Kind::broadcast) == 8);
  CHECK(bytes(Kind::ring_exchange) == 24);
}

TEST_CASE("questions that have no answer are refused with what would be right") {
  CHECK(says(refusal("tpu-v4-slice", {Kind::all_reduce, 1e6, 65, 1}), "has 64 devices"));
  CHECK(says(refusal("dgx-a100", {Kind::all_reduce, 1e6, 512, 1'000'000}), "too large"));
  CHECK(
      says(refusal("dgx-a100", {Kind::all_reduce, 1e6, 8, 1}, "pairwise"), "known for all_reduce"));
  CHECK(says(refusal("dgx-a100", {Kind::all_reduce, 1e18, 16, 1}), "longer than the clock"));
}

}  // namespace penstock::testing
