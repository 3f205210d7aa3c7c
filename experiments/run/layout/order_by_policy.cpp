#include <fmt/format.h>

#include "experiments/input/files/nearest.hpp"
#include "experiments/run/layout/order.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

Placement placement_for_policy(const Scenario& scenario, std::uint32_t ranks,
                               const ScheduleOptions& options) {
  if (!scenario.partition.ranks.empty()) return given_placement(scenario, ranks);
  const auto stages = stages_given(scenario);
  const bool divides = stages && *stages % ranks == 0 && !scenario.parallel.chunks;
  const std::uint32_t chunks = divides ? *stages / ranks : scenario.parallel.chunks.value_or(1);
  check_sizes(ranks, chunks);
  return policy_placement(ranks, chunks, options);
}

const PolicyEntry& policy_of(const Scenario& scenario) {
  const std::string& name = scenario.schedule.policy;
  const PolicyEntry* entry = find_named(policy_entries(), name);
  if (entry != nullptr) return *entry;
  throw InputError("/schedule/policy", unknown_text(fmt::format("name \"{}\"", name), name,
                                                    names_of(policy_entries())));
}

}  // namespace

Order order_by_policy(const Scenario& scenario, const Degrees& degrees,
                      std::uint32_t microbatches) {
  const PolicyEntry& policy = policy_of(scenario);
  Order order{.name = scenario.schedule.policy,
              .microbatches = microbatches,
              .policy = &policy,
              .options = {microbatches, scenario.schedule.settings}};
  try {
    const std::uint32_t ranks =
        ranks_for(scenario, degrees, scenario.parallel.chunks.value_or(1), 1);
    check_devices(scenario, degrees, ranks);
    order.placement = placement_for_policy(scenario, ranks, order.options);
    make_policy(policy, order.placement, order.options);  // checks the options
    order.schedule = policy_work(policy, order.placement, order.options);
  } catch (const UnknownOption& error) {
    throw InputError(option_pointer(error.name()), error.what());
  } catch (const RuleError& error) {
    throw InputError("/schedule", fmt::format("{}: {}", policy.name, error.what()));
  }
  return order;
}

}  // namespace penstock
