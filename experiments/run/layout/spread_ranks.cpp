#include "experiments/run/layout/spread_ranks.hpp"

#include "hardware_models/spec/machine.hpp"

namespace penstock {
namespace {

void seat_devices(const Scenario& scenario, HardwareSpec& spec) {
  const auto& topology = scenario.hardware.stated.topology;
  if (!spec.machine || (topology && topology->parameters.contains("devices_per_node"))) return;
  std::uint64_t unit = 1;
  for (const std::uint64_t group :
       {spec.tensor, spec.tensor * spec.context, spec.tensor * spec.context * spec.expert}) {
    if (group <= spec.machine->devices) unit = group;
  }
  seat_evenly(*spec.machine, spec.ranks * spec.devices_per_rank, unit);
}

}  // namespace

void spread_ranks(const Scenario& scenario, Layout& layout) {
  HardwareSpec& spec = layout.hardware.spec;
  const Degrees& degrees = layout.degrees;
  spec.ranks = layout.placement.ranks();
  spec.devices_per_rank = degrees.group() * degrees.data;
  // Without data replicas, the next copy of a weight is in the same group, one tensor group away.
  spec.devices_per_replica = degrees.data > 1 ? degrees.group() : degrees.tensor;
  spec.tensor = degrees.tensor;
  spec.context = degrees.context;
  spec.expert = degrees.expert;
  spec.overlaps_experts = degrees.overlaps_experts;
  seat_devices(scenario, spec);
}

}  // namespace penstock
