#include "experiments/input/scenario/settle_hardware.hpp"

#include <fmt/format.h>

#include <utility>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/scenario/hardware_checks.hpp"
#include "experiments/input/scenario/hardware_items.hpp"
#include "experiments/input/scenario/named_file.hpp"
#include "experiments/input/scenario/take_stack.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The named link connects every pair of ranks, and the devices of a group.
void take_link(const Scenario& scenario, const Catalogue& catalogue, HardwareSpec& spec) {
  const std::string& name = scenario.hardware.link;
  if (name.empty()) return;
  const CatalogueItem* item = find_item(catalogue, "link", name);
  if (item == nullptr) {
    refuse_hardware(
        scenario, "link",
        fmt::format("unknown name \"{}\"; known: {}", name, names_of_items(catalogue, "link")));
  }
  if (spec.machine && spec.machine->topology) {
    refuse_hardware(scenario, "link",
                    fmt::format("{} has its own links; parameters of \"topology\" change "
                                "them",
                                spec.machine->name));
  }
  const LinkFacts link = link_of(*item);
  const Speed speed{spec.bandwidth_bytes_per_s.value_or(link.bandwidth_bytes_per_s()),
                    spec.latency_us.value_or(link.one.latency_us)};
  if (spec.machine) spec.machine->nic = speed;
  const bool wired = spec.topology || !spec.links.empty();
  if (wired && !spec.machine) {
    refuse_hardware(scenario, "link",
                    "it conflicts with \"topology\" or \"links\"; give one of them");
  }
  if (wired) return;  // stated links between ranks take precedence
  spec.bandwidth_bytes_per_s = speed.bandwidth_bytes_per_s;
  spec.latency_us = speed.latency_us;
}

/// Efficiencies of a machine's links.
void take_link_settings(const HardwareSection& hardware, Machine& machine) {
  machine.link_efficiency = hardware.link_efficiency.value_or(machine.link_efficiency);
  machine.nic_efficiency = hardware.nic_efficiency.value_or(machine.nic_efficiency);
}

/// A machine has a topology; a device alone needs its links from the scenario.
void take_topology(const Scenario& scenario, HardwareSpec& spec) {
  if (!spec.machine) return;
  Machine& machine = *spec.machine;
  if (machine.topology) {
    if (!spec.links.empty()) {
      refuse_hardware(scenario, "links",
                      fmt::format("{} has its own links; parameters of \"topology\" "
                                  "change them",
                                  machine.name));
    }
    set_topology(machine, spec.topology.value_or(TopologySpec{}));
    take_link_settings(scenario.hardware, machine);
    spec.topology = topology_in_use(machine);
    return;
  }
  if (spec.bandwidth_bytes_per_s && !machine.nic) {
    machine.nic = Speed{*spec.bandwidth_bytes_per_s, spec.latency_us.value_or(0)};
  }
  if (scenario.hardware.names_links) return;
  refuse_hardware(
      scenario, "link",
      fmt::format("\"link\" is missing; {} is a device alone: name its link, one of penstock "
                  "list hardware, or give \"bandwidth_bytes_per_s\" with \"latency_us\", or a "
                  "\"topology\"",
                  machine.name));
}

/// Settings of the device.
void take_device_settings(const HardwareSection& hardware, Machine& machine) {
  Device& device = machine.device;
  if (hardware.efficiency) {  // the total efficiency, so tiles are included
    device.matrix_efficiency = *hardware.efficiency;
    device.fp8_efficiency.clear();
    device.tile = 1;
    device.multiprocessors = 0;
    device.stack.matrix_share = device.stack.fp8_share = 1;
  }
  if (hardware.memory_efficiency) {
    device.memory_efficiency = *hardware.memory_efficiency;
    device.stack.vector_passes = 1;
  }
  if (hardware.power_watts) device.power_share = share_under_cap(device, *hardware.power_watts);
  if (hardware.unaligned_efficiency) device.unaligned_efficiency = *hardware.unaligned_efficiency;
  if (hardware.collective_us) machine.collective_us = *hardware.collective_us;
  if (hardware.kernel_us) device.kernel_us = *hardware.kernel_us;
  if (hardware.kernel_issue_us) device.kernel_issue_us = *hardware.kernel_issue_us;
}

bool uses_catalogue(const HardwareSection& hardware) {
  return !hardware.file.empty() || !hardware.device.empty() || !hardware.link.empty() ||
         !is_cost_model(hardware.name);
}

/// Looks up the catalogue items that the scenario names. Returns the name of its hardware, which
/// may come from its own file.
std::string take_named(const Scenario& scenario, const Catalogue* known, Machines* machines,
                       Hardware& hardware) {
  HardwareSpec& spec = hardware.spec;
  std::string name = scenario.hardware.name;
  if (!uses_catalogue(scenario.hardware)) return name;
  Catalogue own;  // if `known` does not suffice
  if (known == nullptr) own = read_catalogue();
  if (!scenario.hardware.file.empty()) {
    if (known != nullptr) own = *known;
    name = add_own_item(scenario, own);
    known = nullptr;  // a file may have another machine of this name
  }
  const Catalogue& catalogue = known != nullptr ? *known : own;
  if (const CatalogueItem* item = machine_item(scenario, name, catalogue)) {
    const auto make = [&] { return machine_of(catalogue, *item); };
    spec.machine =
        known != nullptr && machines != nullptr ? *machines->get(item->name, make) : make();
  }
  take_link(scenario, catalogue, spec);
  take_topology(scenario, spec);
  take_stack(scenario, catalogue, hardware);
  return name;
}

/// Notes that matrix products run in another precision than the model's.
void note_precision(const Device& device, Hardware& hardware) {
  const std::string& precision = hardware.spec.precision;
  const auto runs = runs_in(device, precision);
  if (!runs || *runs == precision) return;
  const double peak = device.peak_flops.find(*runs)->second;
  hardware.notes.push_back(
      fmt::format("{} has no {} units: matrix products are priced, and MFU is counted, at its {} "
                  "peak of {:.4g} TFLOP/s",
                  device.name, precision, *runs, peak * 1e-12));
}

/// Notes that no efficiency limits matrix products.
void note_full_peak(const Device& device, Hardware& hardware) {
  if (!device.matrix_efficiency.table.empty() || device.matrix_efficiency.half_at > 0) return;
  hardware.notes.push_back(
      fmt::format("{} has no matrix_efficiency: matrix products are priced at its full peak; set "
                  "/hardware/efficiency",
                  device.name));
}

/// Notes the assumptions of pricing kernels by the device's peak.
void note_prices(const Scenario& scenario, Hardware& hardware) {
  const auto& machine = hardware.spec.machine;
  if (!machine || !scenario.model.by_kind()) return;
  note_precision(machine->device, hardware);
  if (hardware.cost_model == "roofline") note_full_peak(machine->device, hardware);
}

std::string cost_model_of(const std::string& name, const HardwareSpec& spec) {
  if (is_cost_model(name)) return name;
  return spec.profile ? "measured" : "roofline";
}

}  // namespace

Hardware settle_hardware(const Scenario& scenario, const Catalogue* known, Machines* machines) {
  check_names(scenario);
  Hardware hardware;
  hardware.spec = scenario.hardware.stated;
  const std::string& profile = scenario.hardware.profile;
  if (!profile.empty())
    hardware.spec.profile =
        read_profile(named_file(scenario.source, scenario.folder, "/hardware/profile", profile));
  const std::string name = take_named(scenario, known, machines, hardware);
  check_differences(scenario, hardware.spec.machine);
  if (hardware.spec.machine) take_device_settings(scenario.hardware, *hardware.spec.machine);
  hardware.cost_model = cost_model_of(name, hardware.spec);
  note_prices(scenario, hardware);
  return hardware;
}

}  // namespace penstock
