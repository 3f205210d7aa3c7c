#include <doctest/doctest.h>

#include <filesystem>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "validate/backends/nccl/hang_check.hpp"
#include "validate/job/replica_ranks.hpp"

namespace penstock::testing {
namespace {

/// The plan of a scenario with all data replicas; none where no order is known before it runs.
std::optional<PricedPlan> plan_of(const std::string& path) {
  const Layout layout = with_codecs(settle(read_scenario(path)));
  if (layout.policy != nullptr) return std::nullopt;
  const Simulation simulation(layout);
  auto priced = simulation.price_order(layout.schedule);
  if (!std::holds_alternative<PricedPlan>(priced)) return std::nullopt;
  const PricedPlan& one = std::get<PricedPlan>(priced);
  if (layout.degrees.data == 1) return one;
  const std::uint32_t replicas = std::min<std::uint32_t>(layout.degrees.data, 4);
  return with_replica_ranks(one, std::vector<Costs>(replicas, one.costs));
}

}  // namespace

TEST_CASE("calls: no bundled scenario hangs") {
  std::uint32_t scenarios = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(PENSTOCK_ROOT "/experiments/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path());
    const auto plan = plan_of(entry.path());
    if (!plan || why_no_comm_plan(plan->plan)) continue;
    ++scenarios;
    for (const ChannelRule rule : {ChannelRule::per_direction, ChannelRule::per_pair}) {
      const CommPlan comms = comm_plan(*plan, rule);
      for (const Blocking blocking : {Blocking::streams, Blocking::ranks}) {
        CHECK(why_it_hangs(comms, plan->plan, blocking).value_or("") == "");
      }
    }
  }
  CHECK(scenarios >= 4);
}

}  // namespace penstock::testing
