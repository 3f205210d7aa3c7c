#include "experiments/input/scenario/settle_hardware.hpp"

#include <fmt/format.h>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/named_files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "hardware_models/times/roofline_time.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// Throws InputError at a key of "hardware", with the scenario's file name in front.
[[noreturn]] void refuse_hardware(const Scenario& scenario, const char* key,
                                  const std::string& what) {
  throw in_file(scenario.source, InputError(std::string("/hardware/") + key, what));
}

/// Whether this is the name of a cost model, not of a catalogue item.
bool is_cost_model(const std::string& name) {
  return find_named(cost_model_entries(), name) != nullptr;
}

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
                    fmt::format("{} has its own links; parameters of \"topology\" change them",
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
                      fmt::format("{} has its own links; parameters of \"topology\" change them",
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
    device.stack.matrix_share = device.stack.fp8_share = device.stack.fp4_share = 1;
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
  const std::string units = other_units_text(machine->device, hardware.spec.precision);
  if (!units.empty()) hardware.notes.push_back(units);
  if (hardware.cost_model == "roofline") note_full_peak(machine->device, hardware);
}

std::string cost_model_of(const std::string& name, const HardwareSpec& spec) {
  if (is_cost_model(name)) return name;
  return spec.profile ? "measured" : "roofline";
}

/// Refuses keys that name the same thing twice or conflict with the name.
void check_names(const Scenario& scenario) {
  const HardwareSection& hardware = scenario.hardware;
  const bool stated_times = hardware.name == "ideal" || hardware.name == "custom";
  if (!hardware.file.empty() && hardware.named) {
    refuse_hardware(scenario, "file", "it conflicts with \"name\"; give one of them");
  }
  if (hardware.file.empty() && stated_times && !hardware.device.empty()) {
    refuse_hardware(scenario, "device",
                    fmt::format("layers on {} hardware take the times that they state; "
                                "\"device\" goes with the name \"roofline\"",
                                hardware.name));
  }
  if (hardware.profile.empty() || (!stated_times && hardware.name != "roofline") ||
      !hardware.file.empty()) {
    return;
  }
  refuse_hardware(scenario, "profile",
                  fmt::format("{} hardware takes no times from a profile; it goes with "
                              "the name \"measured\", or that of a machine",
                              hardware.name));
}

/// Refuses device keys without a device, and link keys where other keys describe the links.
void check_differences(const Scenario& scenario, const std::optional<Machine>& machine) {
  const HardwareSection& hardware = scenario.hardware;
  const bool stacked = !hardware.stack.name.empty() && hardware.stack.name != "none";
  const std::string of_device = stacked ? "stack" : hardware.device_setting;
  if (!of_device.empty() && !machine) {
    refuse_hardware(scenario, of_device.c_str(),
                    "it is about a device; name a machine or device of penstock list hardware");
  }
  if (!hardware.link_setting.empty() && !(machine && machine->topology)) {
    refuse_hardware(scenario, hardware.link_setting.c_str(),
                    "it is about the links that a machine brings; name a machine of penstock list "
                    "hardware, or give links the bandwidth that they reach");
  }
}

/// Adds the machine or device of the scenario's own file to the catalogue. Returns its name.
std::string add_own_item(const Scenario& scenario, Catalogue& catalogue) {
  const std::string path =
      named_file(scenario.source, scenario.folder, "/hardware/file", scenario.hardware.file);
  require_json(scenario.folder, path, read_configuration(path), "a machine or a device");
  const std::string name = add_catalogue_file(path, catalogue);
  if (catalogue[name].is == "link") {
    refuse_hardware(scenario, "file",
                    fmt::format("\"{}\" is a link; a machine or a device is needed", name));
  }
  return name;
}

/// The device that the scenario names.
const CatalogueItem& named_device(const Scenario& scenario, const Catalogue& catalogue) {
  const std::string& device = scenario.hardware.device;
  if (const CatalogueItem* item = find_item(catalogue, "device", device)) return *item;
  refuse_hardware(scenario, "device",
                  unknown_text(fmt::format("name \"{}\"", device), device,
                               names_of_items(catalogue, "device")));
}

/// The machine or device of this name.
const CatalogueItem& named_machine(const Scenario& scenario, const std::string& name,
                                   const Catalogue& catalogue) {
  for (const char* is : {"machine", "device"}) {
    if (const CatalogueItem* item = find_item(catalogue, is, name)) return *item;
  }
  const std::string models = names_of(cost_model_entries());
  const std::string machines = names_of_items(catalogue, "machine");
  const std::string devices = names_of_items(catalogue, "device");
  const auto near = nearest(name, split_names(models + ", " + machines + ", " + devices));
  refuse_hardware(scenario, "name",
                  fmt::format("unknown name \"{}\";{} known: {}; machines: {}; devices: {}", name,
                              near ? fmt::format(" did you mean \"{}\"?", *near) : "", models,
                              machines, devices));
}

/// A machine or device, and the device in place of the machine's own; nullptr: its own.
struct MachineItems {
  const CatalogueItem* item = nullptr;  // nullptr: none
  const CatalogueItem* device = nullptr;
};

/// What the scenario names; nothing for a cost model only. `name` is the name of its hardware.
/// Throws InputError for an unknown name, and for two devices.
MachineItems machine_items(const Scenario& scenario, const std::string& name,
                           const Catalogue& catalogue) {
  const bool other = !scenario.hardware.device.empty();
  if (is_cost_model(name)) {
    return {other ? &named_device(scenario, catalogue) : nullptr, nullptr};
  }
  const CatalogueItem& item = named_machine(scenario, name, catalogue);
  if (!other) return {&item, nullptr};
  if (item.is == "device") {
    refuse_hardware(scenario, "device",
                    fmt::format("it conflicts with \"{}\", which is a device itself; it goes with "
                                "the name of a machine, \"roofline\" or \"measured\"",
                                name));
  }
  return {&item, &named_device(scenario, catalogue)};
}

/// The machine of these items, made unless `machines` has it.
Machine machine_of_items(const Catalogue& catalogue, const MachineItems& items,
                         MachinesByName* machines) {
  const auto make = [&] { return machine_of(catalogue, *items.item, items.device); };
  if (machines == nullptr) return make();
  return *machines->get({items.item->name, items.device ? items.device->name : ""}, make);
}

/// Looks up the catalogue items that the scenario names. Returns the name of its hardware, which
/// may come from its own file.
std::string take_named(const Scenario& scenario, const Catalogue* known, MachinesByName* machines,
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
  const MachineItems items = machine_items(scenario, name, catalogue);
  if (items.item != nullptr) {
    spec.machine = machine_of_items(catalogue, items, known != nullptr ? machines : nullptr);
  }
  if (items.device != nullptr) {
    hardware.notes.push_back(
        fmt::format("{} with {} in place of its own device", items.item->name, items.device->name));
  }
  take_link(scenario, catalogue, spec);
  take_topology(scenario, spec);
  if (spec.machine) {
    hardware.confidence = take_stack(scenario, catalogue, spec.machine->device, hardware.notes);
  }
  return name;
}

}  // namespace

bool uses_catalogue(const HardwareSection& hardware) {
  return !hardware.file.empty() || !hardware.device.empty() || !hardware.link.empty() ||
         !is_cost_model(hardware.name);
}

Hardware settle_hardware(const Scenario& scenario, const Catalogue* known,
                         MachinesByName* machines) {
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
