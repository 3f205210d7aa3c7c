#include "sim/order/weight_versions.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// One stage's row, with an update behind each of the given places.
Schedule with_updates(const char* csv, std::initializer_list<std::size_t> places, WeightRule rule) {
  const Schedule plain = order_of(csv);
  Schedule schedule(1);
  auto& row = schedule.on(Rank{0});
  for (const Action& action : plain.on(Rank{0})) {
    row.push_back(action);
    for (const std::size_t place : places) {
      const bool here = static_cast<std::size_t>(&action - plain.on(Rank{0}).data()) == place;
      if (here) row.emplace_back(Pass::update, action.stage, action.microbatch);
    }
  }
  schedule.set_weights(rule);
  return schedule;
}

/// "3 versions, staleness 2" of the one slot.
std::string counted(const Schedule& schedule) {
  const WeightVersions found = weight_versions(schedule, Placement::loop(1, 1)).front();
  return fmt::format("{} versions, staleness {}", found.versions, found.staleness);
}

}  // namespace

TEST_CASE("with the newest weights, versions are kept for whoever is in flight") {
  const WeightRule newest{WeightUse::newest};
  // Each microbatch ends before the next begins: one version, never old.
  CHECK(counted(with_updates("0F0,0B0,0F1,0B1", {1, 3}, newest)) == "1 versions, staleness 0");
  // F1 uses version 0 as F0 does; U0 makes 1, and B1 still needs 0: two, and one update late.
  CHECK(counted(with_updates("0F0,0F1,0B0,0B1", {2, 3}, newest)) == "2 versions, staleness 1");
  // F2 uses 1 while B1 needs 0; U1 makes 2 while B2 needs 1. Three only if F3 were in flight too.
  CHECK(counted(with_updates("0F0,0F1,0B0,0F2,0B1,0B2", {2, 4, 5}, newest)) ==
        "2 versions, staleness 1");
  CHECK(counted(with_updates("0F0,0F1,0F2,0B0,0F3,0B1,0F4,0B2,0B3,0B4", {3, 5, 7, 8, 9}, newest)) ==
        "3 versions, staleness 2");
}

TEST_CASE("an update after several backwards is one update, and the own one of each") {
  // F2 and F3 come after U0: version 1, whose own update is the second.
  CHECK(counted(with_updates("0F0,0F1,0B0,0B1,0F2,0F3,0B2,0B3", {3, 7}, {WeightUse::newest})) ==
        "1 versions, staleness 0");
}

TEST_CASE("delayed weights are kept for groups that have not started yet") {
  // Groups of one, two updates late: F3 uses version 1 while 3 is the newest and 2 waits for F4.
  CHECK(counted(with_updates("0F0,0B0,0F1,0B1,0F2,0B2,0F3,0B3,0F4,0B4", {1, 3, 5, 7, 9},
                             {WeightUse::delayed, 2})) == "3 versions, staleness 2");
}

TEST_CASE("a split backward needs its weights until W") {
  CHECK(counted(with_updates("0F0,0F1,0I0,0W0,0I1,0W1", {3, 5}, {WeightUse::newest})) ==
        "2 versions, staleness 1");
}

TEST_CASE("an order that flushes has one version, whatever updates it has") {
  CHECK(counted(with_updates("0F0,0F1,0B0,0B1", {3}, {})) == "1 versions, staleness 0");
}

TEST_CASE("further versions take the stage's parameters once each") {
  // Two versions at most: 500 bytes of parameters and 500 of the other version.
  Layer stage{.forward_us = 1, .backward_us = 1, .parameter_bytes = 500};
  const System system{
      Placement::loop(1, 1), with_updates("0F0,0F1,0B0,0B1", {2, 3}, {WeightUse::newest}), {stage}};
  const MemoryPeak peak = simulated(system).report.ranks.front().memory;
  CHECK(peak.bytes == 1000);
  CHECK(peak.by_kind[static_cast<std::size_t>(BufferKind::parameters)] == 500);
  CHECK(peak.by_kind[static_cast<std::size_t>(BufferKind::versions)] == 500);
}

}  // namespace penstock::testing
