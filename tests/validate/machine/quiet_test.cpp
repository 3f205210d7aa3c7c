#include "validate/machine/quiet.hpp"

#include <doctest/doctest.h>

#include "validate/machine/host.hpp"

namespace penstock::testing {
namespace {

using Reasons = std::vector<std::string>;

/// An iteration of two threads whose canaries take as long as always.
QuietReadings quiet() { return {.threads = {{0, 1000, 1000}, {0, 2000, 2000}}}; }

/// A gate that has seen some quiet iterations.
QuietGate used_gate() {
  QuietGate gate(0.03);
  for (int i = 0; i < 5; ++i) CHECK(gate.disturbances(quiet()).empty());
  return gate;
}

}  // namespace

TEST_CASE("quiet gate: a thread that had to leave its core, once, is enough") {
  QuietReadings readings = quiet();
  readings.threads[1].preemptions = 1;
  CHECK(used_gate().disturbances(readings) == Reasons{"preempted"});
}

TEST_CASE("quiet gate: time that the hypervisor took is enough") {
  QuietReadings readings = quiet();
  readings.stolen_ticks = 1;
  CHECK(used_gate().disturbances(readings) == Reasons{"stolen"});
}

// The medians are 1000 and 2000 ns: within 3 % are 970 to 1030, and 1940 to 2060.
TEST_CASE("quiet gate: a canary may be off the median of its own thread by so much") {
  const auto with = [](std::int64_t first_before, std::int64_t second_after) {
    QuietReadings readings = quiet();
    readings.threads[0].canary_before_ns = first_before;
    readings.threads[1].canary_after_ns = second_after;
    return used_gate().disturbances(readings);
  };
  CHECK(with(1030, 1940).empty());
  CHECK(with(970, 2060).empty());
  CHECK(with(1031, 2000) == Reasons{"canary"});
  CHECK(with(969, 2000) == Reasons{"canary"});
  CHECK(with(1000, 2061) == Reasons{"canary"});
  CHECK(with(1000, 1000) == Reasons{"canary"});
}

TEST_CASE("quiet gate: all reasons are told, each once") {
  QuietReadings readings{.threads = {{3, 1200, 1200}, {1, 2000, 3000}}, .stolen_ticks = 2};
  CHECK(used_gate().disturbances(readings) == Reasons{"preempted", "stolen", "canary"});
}

TEST_CASE("quiet gate: threads that ask no canary are judged by the rest") {
  QuietGate gate;
  CHECK(gate.disturbances({.threads = {{0, 0, 0}, {0, 1000, 1000}}}).empty());
  CHECK(gate.disturbances({.threads = {{0, 0, 0}, {0, 1000, 1000}}}).empty());
  CHECK(gate.disturbances({.threads = {{0, 0, 0}, {0, 1000, 1100}}}) == Reasons{"canary"});
}

// A machine that becomes slower for good: after so many slow ones the median is theirs.
TEST_CASE("quiet gate: what lasts becomes what is usual") {
  QuietGate gate = used_gate();
  QuietReadings slow = quiet();
  slow.threads[0] = {0, 1500, 1500};
  std::size_t disturbed = 0;
  for (int i = 0; i < 20; ++i) disturbed += gate.disturbances(slow).empty() ? 0 : 1;
  CHECK(disturbed == 5);
  CHECK(gate.disturbances(slow).empty());
}

TEST_CASE("quiet gate: what hypervisors took is the eighth number of all cores together") {
  CHECK(stolen_ticks("cpu  5 7 7 1 3 0 1 60 0 0\ncpu0 1 1 1 1 1 1 1 29 0 0\n") == 60);
  CHECK(stolen_ticks("cpu  5 7 7 1 3 0 1\n") == 0);
  CHECK(stolen_ticks("cpu0 1 1 1 1 1 1 1 29 0 0\n") == 0);
  CHECK(stolen_ticks("cpu ") == 0);
  CHECK(stolen_ticks("cpu  5 7 x 1 3 0 1 60\n") == 0);
  CHECK(stolen_ticks("") == 0);
  CHECK(stolen_ticks("cpu 99999999999999999999999 1 1 1 1 1 1 1") == 0);
}

TEST_CASE("cores: a control group allows a share of time, or says that it does not care") {
  CHECK(quota_of("150000 100000\n") == 1.5);
  CHECK(quota_of("20000 100000") == 0.2);
  CHECK_FALSE(quota_of("max 100000\n"));
  CHECK_FALSE(quota_of("-1 100000"));
  CHECK_FALSE(quota_of("100000"));
  CHECK_FALSE(quota_of("100000 0"));
  CHECK_FALSE(quota_of("nan nan"));
  CHECK_FALSE(quota_of(""));
}

TEST_CASE("cores: a rank needs a whole one, by affinity and by quota") {
  CHECK(whole_cores({{0, 1, 5}, {}}) == 3);
  CHECK(whole_cores({{0, 1, 5}, 2.9}) == 2);
  CHECK(whole_cores({{0, 1, 5}, 0.5}) == 0);
  CHECK(whole_cores({{0, 1, 5}, 64}) == 3);
  CHECK(whole_cores({{0}, 1e300}) == 1);
  CHECK_FALSE(usable_cores().numbers.empty());
}

TEST_CASE("cores: ranks that compute need one for each of their threads") {
  CHECK_FALSE(why_no_core_each(2, 1, {{0, 1}, {}}));
  CHECK_FALSE(why_no_core_each(2, 2, {{0, 1, 2, 3}, 4}));
  CHECK(why_no_core_each(4, 1, {{0, 1}, {}}) == "4 ranks that compute need 4 cores; usable: 2");
  CHECK(why_no_core_each(2, 1, {{0, 1}, 1.5}) == "2 ranks that compute need 2 cores; usable: 1");
  CHECK(why_no_core_each(2, 3, {{0, 1, 2, 3}, {}}) ==
        "2 ranks that compute in 3 threads each need 6 cores; usable: 4");
}

}  // namespace penstock::testing
