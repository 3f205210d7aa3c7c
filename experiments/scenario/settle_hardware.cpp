#include "experiments/scenario/hardware_section.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/files/files.hpp"
#include "experiments/files/json_input.hpp"
#include "experiments/formats/reading/profile_file.hpp"
#include "experiments/scenario/scenario.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const Scenario& scenario, const char* key, const std::string& what) {
  throw in_file(scenario.source, InputError(std::string("/hardware/") + key, what));
}

bool is_cost_model(const std::string& name) {
  return find_named(cost_model_entries(), name) != nullptr;
}

/// What a machine's file names may lie beside it, in files of these names.
void take_neighbours(const CatalogueItem& item, const std::string& path, Catalogue& catalogue) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const json facts = json::parse(item.text);
  for (const char* key : {"device", "link", "host_link", "nic_link"}) {
    if (!facts.contains(key)) continue;
    const std::string name = facts[key]["value"];
    const std::filesystem::path file = folder / (name + ".json");
    if (std::filesystem::is_regular_file(file))
      catalogue[name] = read_catalogue_file(file.string());
  }
}

/// Adds the machine or device of a file of the scenario's own, and lets the scenario name it.
void take_file(Scenario& scenario, Catalogue& catalogue) {
  const HardwareChoice& choice = scenario.hardware_choice;
  CatalogueItem item = read_catalogue_file(resolve(scenario.folder, choice.file));
  if (item.is == "link") {
    refuse(scenario, "file",
           fmt::format("\"{}\" is a link; a machine or a device is needed", item.name));
  }
  if (item.is == "machine") {
    take_neighbours(item, resolve(scenario.folder, choice.file), catalogue);
  }
  scenario.hardware = item.name;
  catalogue[item.name] = std::move(item);
}

/// What the scenario names as its machine or device; nothing where it names only a cost model.
const CatalogueItem* machine_item(const Scenario& scenario, const Catalogue& catalogue) {
  const std::string& device = scenario.hardware_choice.device;
  if (is_cost_model(scenario.hardware)) {
    if (device.empty()) return nullptr;
    if (const CatalogueItem* item = find_item(catalogue, "device", device)) return item;
    refuse(
        scenario, "device",
        fmt::format("unknown name \"{}\"; known: {}", device, names_of_items(catalogue, "device")));
  }
  if (!device.empty()) {
    refuse(scenario, "device",
           fmt::format("it stands beside \"{}\", which brings its device; it goes with the name "
                       "\"roofline\" or \"measured\"",
                       scenario.hardware));
  }
  for (const char* is : {"machine", "device"}) {
    if (const CatalogueItem* item = find_item(catalogue, is, scenario.hardware)) return item;
  }
  refuse(scenario, "name",
         fmt::format("unknown name \"{}\"; known: {}; machines: {}; devices: {}", scenario.hardware,
                     names_of(cost_model_entries()), names_of_items(catalogue, "machine"),
                     names_of_items(catalogue, "device")));
}

/// The link by its name becomes that of every pair of ranks, and of the devices of a group.
void take_link(Scenario& scenario, const Catalogue& catalogue) {
  const std::string& name = scenario.hardware_choice.link;
  HardwareSpec& spec = scenario.hardware_spec;
  if (name.empty()) return;
  const CatalogueItem* item = find_item(catalogue, "link", name);
  if (item == nullptr) {
    refuse(scenario, "link",
           fmt::format("unknown name \"{}\"; known: {}", name, names_of_items(catalogue, "link")));
  }
  if (spec.machine && spec.machine->topology) {
    refuse(scenario, "link",
           fmt::format("{} brings its links; parameters of \"topology\" change "
                       "them",
                       spec.machine->name));
  }
  const LinkFacts link = link_of(*item);
  const Speed speed{spec.bandwidth_bytes_per_s.value_or(link.bandwidth_bytes_per_s()),
                    spec.latency_us.value_or(link.one.latency_us)};
  if (spec.machine) spec.machine->nic = speed;
  const bool wired = spec.topology || !spec.links.empty();
  if (wired && !spec.machine) {
    refuse(scenario, "link", "it stands beside \"topology\" or \"links\"; give one of them");
  }
  if (wired) return;  // between ranks these count
  spec.bandwidth_bytes_per_s = speed.bandwidth_bytes_per_s;
  spec.latency_us = speed.latency_us;
}

/// The share of their speed that links of a machine reach.
void take_link_settings(Scenario& scenario) {
  const HardwareChoice& choice = scenario.hardware_choice;
  Machine& machine = *scenario.hardware_spec.machine;
  machine.link_efficiency = choice.link_efficiency.value_or(machine.link_efficiency);
  machine.nic_efficiency = choice.nic_efficiency.value_or(machine.nic_efficiency);
}

/// A machine brings its topology; a device alone needs to be told its links.
void take_topology(Scenario& scenario) {
  HardwareSpec& spec = scenario.hardware_spec;
  if (!spec.machine) return;
  Machine& machine = *spec.machine;
  if (machine.topology) {
    if (!spec.links.empty()) {
      refuse(scenario, "links",
             fmt::format("{} brings its links; parameters of \"topology\" "
                         "change them",
                         machine.name));
    }
    set_topology(machine, spec.topology.value_or(TopologySpec{}));
    take_link_settings(scenario);
    spec.topology = topology_in_use(machine);
    return;
  }
  if (spec.bandwidth_bytes_per_s && !machine.nic) {
    machine.nic = Speed{*spec.bandwidth_bytes_per_s, spec.latency_us.value_or(0)};
  }
  if (scenario.hardware_choice.names_links) return;
  refuse(scenario, "link",
         fmt::format("\"link\" is missing; {} is a device alone: name its link, one of penstock "
                     "list hardware, or give \"bandwidth_bytes_per_s\" with \"latency_us\", or a "
                     "\"topology\"",
                     machine.name));
}

/// Refuses what is about a device where there is none, or about links where they have other keys.
void check_settings(const Scenario& scenario) {
  const HardwareChoice& choice = scenario.hardware_choice;
  const auto& machine = scenario.hardware_spec.machine;
  const std::array<std::pair<const char*, bool>, 7> of_device{
      {{"efficiency", choice.efficiency.has_value()},
       {"memory_efficiency", choice.memory_efficiency.has_value()},
       {"unaligned_efficiency", choice.unaligned_efficiency.has_value()},
       {"kernel_us", choice.kernel_us.has_value()},
       {"kernel_issue_us", choice.kernel_issue_us.has_value()},
       {"collective_us", choice.collective_us.has_value()},
       {"collectives", choice.names_collectives}}};
  for (const auto& [key, given] : of_device) {
    if (!given || machine) continue;
    refuse(scenario, key,
           "it is about a device; name a machine or device of penstock list hardware");
  }
  const std::array<std::pair<const char*, bool>, 2> of_links{
      {{"link_efficiency", choice.link_efficiency.has_value()},
       {"nic_efficiency", choice.nic_efficiency.has_value()}}};
  for (const auto& [key, given] : of_links) {
    if (!given || (machine && machine->topology)) continue;
    refuse(scenario, key,
           "it is about the links that a machine brings; name a machine of penstock list "
           "hardware, or give links the bandwidth that they reach");
  }
}

/// What the scenario says of the device itself.
void take_device_settings(Scenario& scenario) {
  check_settings(scenario);
  const HardwareChoice& choice = scenario.hardware_choice;
  auto& machine = scenario.hardware_spec.machine;
  if (!machine) return;
  Device& device = machine->device;
  if (choice.efficiency) {  // all that is lost, so tiles too
    device.matrix_efficiency = *choice.efficiency;
    device.tile = 1;
  }
  if (choice.memory_efficiency) device.memory_efficiency = *choice.memory_efficiency;
  if (choice.unaligned_efficiency) device.unaligned_efficiency = *choice.unaligned_efficiency;
  if (choice.collective_us) machine->collective_us = *choice.collective_us;
  if (choice.kernel_us) device.kernel_us = *choice.kernel_us;
  if (choice.kernel_issue_us) device.kernel_issue_us = *choice.kernel_issue_us;
}

/// What a machine brings is taken where the scenario does not state it.
void take_what_is_brought(Scenario& scenario) {
  const auto& machine = scenario.hardware_spec.machine;
  if (!machine) return;
  const Device& device = machine->device;
  if (!scenario.capacity_bytes) {
    scenario.capacity_bytes = static_cast<std::uint64_t>(std::floor(device.memory_bytes));
  }
  if (!scenario.context_bytes) {
    scenario.context_bytes = device.context_bytes + machine->communication_bytes;
  }
  if (!scenario.reserve) scenario.reserve = device.reserve;
  if (!scenario.warm_up_us) scenario.warm_up_us = machine->warm_up_us;
}

void check_choice(const Scenario& scenario) {
  const HardwareChoice& choice = scenario.hardware_choice;
  const bool stated_times = scenario.hardware == "ideal" || scenario.hardware == "custom";
  if (!choice.file.empty() && scenario.hardware_named) {
    refuse(scenario, "file", "it stands beside \"name\"; give one of them");
  }
  if (choice.file.empty() && stated_times && !choice.device.empty()) {
    refuse(scenario, "device",
           fmt::format("layers on {} hardware take the times that they state; "
                       "\"device\" goes with the name \"roofline\"",
                       scenario.hardware));
  }
  if (choice.profile.empty() || (!stated_times && scenario.hardware != "roofline") ||
      !choice.file.empty()) {
    return;
  }
  refuse(scenario, "profile",
         fmt::format("{} hardware takes no times from a profile; it goes with "
                     "the name \"measured\", or that of a machine",
                     scenario.hardware));
}

bool uses_catalogue(const Scenario& scenario) {
  const HardwareChoice& choice = scenario.hardware_choice;
  return !choice.file.empty() || !choice.device.empty() || !choice.link.empty() ||
         !is_cost_model(scenario.hardware);
}

void note_precision(Scenario& scenario) {
  const auto& machine = scenario.hardware_spec.machine;
  if (!machine || scenario.model_spec.blocks.empty()) return;
  const std::string& precision = scenario.hardware_spec.precision;
  const auto runs = runs_in(machine->device, precision);
  if (!runs || *runs == precision) return;
  scenario.notes.push_back(fmt::format("{} has no {}; products run, and utilisation counts, in {}",
                                       machine->device.name, precision, *runs));
}

/// One share for work of every size, or the most of it and the size at which half of that is
/// reached.
std::optional<Efficiency> read_efficiency(const json& hardware, const char* key,
                                          const char* half_at) {
  if (!hardware.contains(key)) return std::nullopt;
  const json& stated = hardware[key];
  if (stated.is_number()) return Efficiency{{{1, stated}}};
  return Efficiency{{{1, stated["most"]}}, stated.value(half_at, 0.0)};
}

}  // namespace

HardwareChoice read_hardware_choice(const json& hardware) {
  HardwareChoice choice;
  take(hardware, "file", choice.file);
  take(hardware, "device", choice.device);
  take(hardware, "link", choice.link);
  take(hardware, "profile", choice.profile);
  choice.efficiency = read_efficiency(hardware, "efficiency", "half_at_gflop");
  choice.memory_efficiency = read_efficiency(hardware, "memory_efficiency", "half_at_mb");
  take(hardware, "unaligned_efficiency", choice.unaligned_efficiency);
  take(hardware, "kernel_us", choice.kernel_us);
  take(hardware, "kernel_issue_us", choice.kernel_issue_us);
  take(hardware, "link_efficiency", choice.link_efficiency);
  take(hardware, "nic_efficiency", choice.nic_efficiency);
  take(hardware, "collective_us", choice.collective_us);
  choice.names_collectives = hardware.contains("collectives");
  for (const char* key : {"link", "transfer_us", "latency_us", "bandwidth_bytes_per_s", "links",
                          "routes", "topology"}) {
    choice.names_links = choice.names_links || hardware.contains(key);
  }
  return choice;
}

void settle_hardware(Scenario& scenario, const Catalogue* known) {
  check_choice(scenario);
  const std::string& profile = scenario.hardware_choice.profile;
  if (!profile.empty()) {
    scenario.hardware_spec.profile = read_profile(resolve(scenario.folder, profile));
  }
  if (uses_catalogue(scenario)) {
    Catalogue own;  // where what is known does not do
    if (known == nullptr) own = read_catalogue();
    if (!scenario.hardware_choice.file.empty()) {
      if (known != nullptr) own = *known;
      take_file(scenario, own);
      known = nullptr;
    }
    const Catalogue& catalogue = known != nullptr ? *known : own;
    if (const CatalogueItem* item = machine_item(scenario, catalogue)) {
      scenario.hardware_spec.machine = machine_of(catalogue, *item);
    }
    take_link(scenario, catalogue);
    take_topology(scenario);
  }
  take_device_settings(scenario);
  take_what_is_brought(scenario);
  note_precision(scenario);
}

std::string_view cost_model_of(const Scenario& scenario) {
  if (is_cost_model(scenario.hardware)) return scenario.hardware;
  return scenario.hardware_spec.profile ? "measured" : "roofline";
}

}  // namespace penstock
