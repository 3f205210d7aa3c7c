#include "tests/support/finished_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/costs/chance.hpp"
#include "sim/engines/events.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

/// Routes over up to three of four links for everything that the plan sends.
Network random_network(const Plan& plan) {
  Network network{.sharing = one_in(2) ? Sharing::fair : Sharing::fifo};
  for (const char* name : {"a", "b", "c", "d"}) {
    network.links.push_back({name, 1e8 * (1 + below(3)), 0});
  }
  for (std::size_t link = 0; link < plan.links.size(); ++link) {
    network.routes.emplace_back();
    for (std::uint32_t hop = 0; hop < 1 + below(3); ++hop)
      network.routes.back().push_back(below(4));
  }
  return network;
}

/// 60 to 110 % of the peak of an unlimited run.
std::uint64_t random_capacity(const Plan& plan, const Costs& costs) {
  const PricedPlan priced{plan, costs};
  return std::ranges::max(peaks_of(priced, relax(priced))) * (6 + below(6)) / 10;
}

Conditions random_conditions(const Plan& plan, const Costs& costs) {
  Conditions conditions;
  if (one_in(2)) conditions.network = random_network(plan);
  if (one_in(2)) conditions.stall_above_bytes = random_capacity(plan, costs);
  if (one_in(3)) conditions.compute_slowdown = 1.5;
  if (one_in(3)) conditions.transfer_slowdown = 1.25;
  conditions.blocking_sends = one_in(3);
  conditions.rendezvous = one_in(3);
  if (one_in(3)) conditions.sends_in_flight = 1 + below(2);
  if (one_in(3)) conditions.receives_in_flight = 1 + below(2);
  return conditions;
}

Costs random_costs(const System& system, const Plan& plan) {
  Chance chance;
  if (one_in(3)) chance.jitter = chance.transfer_jitter = 0.2;
  Costs costs = draw(plan, priced(system, plan), chance, 0);
  if (one_in(3)) costs.issue = from_us(below(4) * 0.5);
  if (one_in(3)) costs.launch = from_us(below(4) * 0.5);
  return costs;
}

RunResult result_of(PricedPlan priced, Timeline timeline) {
  auto& [plan, costs, conditions] = priced;
  RunResult result;
  result.title = result.layout.name = "random";
  result.report = summarize(plan, costs, timeline, conditions);
  result.report->network = network_use(plan, costs, conditions.network, result.report->makespan);
  result.plan = std::move(plan);
  result.costs = std::move(costs);
  result.conditions = std::move(conditions);
  result.timeline = std::move(timeline);
  return result;
}

/// Nothing if it deadlocks.
std::optional<RunResult> simulated_with(PricedPlan priced) {
  RunOutcome outcome = simulate(priced);
  if (std::holds_alternative<Standstill>(outcome)) return std::nullopt;
  return result_of(std::move(priced), std::get<Timeline>(std::move(outcome)));
}

}  // namespace

RunResult finished(const System& system, const Conditions& conditions) {
  Plan plan = lowered(system);
  Costs costs = priced(system, plan);
  return simulated_with({std::move(plan), std::move(costs), conditions}).value();
}

std::optional<RunResult> random_run() {
  const System system = random_system();
  Plan plan = lowered(system);
  Costs costs = random_costs(system, plan);
  Conditions conditions = random_conditions(plan, costs);
  return simulated_with({std::move(plan), std::move(costs), std::move(conditions)});
}

RunResult random_relaxed_run() {
  const System system = random_system();
  Plan plan = lowered(system);
  Costs costs = random_costs(system, plan);
  return simulated_with({std::move(plan), std::move(costs)}).value();
}

RunResult random_shared_run() {
  const System system = random_system();
  Plan plan = lowered(system);
  Costs costs = random_costs(system, plan);
  Conditions conditions{.network = random_network(plan)};
  return simulated_with({std::move(plan), std::move(costs), std::move(conditions)}).value();
}

Scenario on_64_ranks(std::int64_t microbatches) {
  std::string stages;
  for (int s = 0; s < 64; ++s) {
    stages +=
        fmt::format(R"({}{{"forward_us": {}, "backward_us": 2000, "activation_bytes": 8388608}})",
                    s == 0 ? "" : ", ", 1000 + s % 7 * 10);
  }
  return parse_scenario(
      fmt::format(R"({{"penstock": 1, "model": {{"stages": [{}]}}, "hardware": {{"name": "ideal",)"
                  R"("devices": 64, "latency_us": 2, "bandwidth_bytes_per_s": 25e9}},)"
                  R"("schedule": {{"name": "1f1b", "microbatches": {}}}}})",
                  stages, microbatches),
      "64 ranks");
}

}  // namespace penstock::testing
