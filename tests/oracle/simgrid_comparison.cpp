#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/support/flows.hpp"
#include "tests/support/scratch.hpp"

// The event engine against SimGrid, which shares links with an algorithm and numbers of its own.
// There a flow is on its way for its latency first and takes bandwidth then; here it is the other
// way round. With the same latency on all routes the ends agree.

namespace penstock::testing {
namespace {

std::string text(const FlowSet& set) {
  std::string text = fmt::format("{} {}\n", set.links.size(), set.flows.size());
  for (const NetworkLink& link : set.links) {
    text += fmt::format("{} {}\n", link.bandwidth_bytes_per_s, link.latency_us * 1e-6);
  }
  for (const Flow& flow : set.flows) {
    text += fmt::format("{} {:.0f} {} {}\n", flow.start_us * 1e-6, flow.bytes, flow.route.size(),
                        fmt::join(flow.route, " "));
  }
  return text;
}

/// When each flow is complete by SimGrid, in seconds; the flows of all sets one after the other.
std::vector<double> ends_by_simgrid(const std::vector<FlowSet>& sets) {
  std::string all;
  for (const FlowSet& set : sets) all += text(set);
  const Scratch scratch;
  const std::string out = scratch.path("ends");
  const std::string command =
      fmt::format("'{}' < '{}' > '{}'", SIMGRID_FLOWS, scratch.file("flows", all), out);
  REQUIRE(std::system(command.c_str()) == 0);
  std::vector<double> ends;
  std::ifstream lines(out);
  for (double end = 0; lines >> end;) ends.push_back(end);
  return ends;
}

std::vector<FlowSet> draw_sets(std::size_t count) {
  std::mt19937_64 random(20'240'229);
  std::vector<FlowSet> sets;
  for (std::size_t i = 0; i < count; ++i) {
    sets.push_back(random_flows(
        [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); }));
  }
  return sets;
}

}  // namespace

TEST_CASE("flows that share links end when SimGrid says that they do") {
  const std::vector<FlowSet> sets = draw_sets(300);
  const std::vector<double> expected = ends_by_simgrid(sets);
  std::size_t at = 0, slowed = 0;
  double worst = 0;
  for (const FlowSet& set : sets) {
    const FlowPlan flows(set);
    const Timeline timeline = flows.run();
    for (std::uint32_t flow = 0; flow < set.flows.size(); ++flow) {
      REQUIRE(at < expected.size());
      const TaskId transfer = flows.transfer(flow);
      const double end = to_us(timeline.end[transfer]) * 1e-6;
      const double on_its_way = expected[at] - set.flows[flow].start_us * 1e-6;
      const double difference = std::abs(end - expected[at]) / on_its_way;
      CAPTURE(flow);
      CAPTURE(text(set));
      REQUIRE(difference <= 1e-6);
      worst = std::max(worst, difference);
      if (!timeline.slowed.empty() && timeline.slowed[transfer] > Time{}) ++slowed;
      ++at;
    }
  }
  CHECK(at == expected.size());
  // The sets would show nothing if their flows kept out of each other's way.
  CHECK(2 * slowed > at);
  MESSAGE(at << " flows, " << slowed << " of them slowed, largest relative difference " << worst);
}

}  // namespace penstock::testing
