#include "experiments/input/scenario/hardware_checks.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {

void refuse_hardware(const Scenario& scenario, const char* key, const std::string& what) {
  throw in_file(scenario.source, InputError(std::string("/hardware/") + key, what));
}

bool is_cost_model(const std::string& name) {
  return find_named(cost_model_entries(), name) != nullptr;
}

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

void check_differences(const Scenario& scenario, const std::optional<Machine>& machine) {
  const HardwareSection& hardware = scenario.hardware;
  const std::array<std::pair<const char*, bool>, 9> of_device{
      {{"stack", !hardware.stack.name.empty() && hardware.stack.name != "none"},
       {"power_watts", hardware.power_watts.has_value()},
       {"efficiency", hardware.efficiency.has_value()},
       {"memory_efficiency", hardware.memory_efficiency.has_value()},
       {"unaligned_efficiency", hardware.unaligned_efficiency.has_value()},
       {"kernel_us", hardware.kernel_us.has_value()},
       {"kernel_issue_us", hardware.kernel_issue_us.has_value()},
       {"collective_us", hardware.collective_us.has_value()},
       {"collectives", hardware.names_collectives}}};
  for (const auto& [key, given] : of_device) {
    if (!given || machine) continue;
    refuse_hardware(scenario, key,
                    "it is about a device; name a machine or device of penstock list hardware");
  }
  const std::array<std::pair<const char*, bool>, 2> of_links{
      {{"link_efficiency", hardware.link_efficiency.has_value()},
       {"nic_efficiency", hardware.nic_efficiency.has_value()}}};
  for (const auto& [key, given] : of_links) {
    if (!given || (machine && machine->topology)) continue;
    refuse_hardware(scenario, key,
                    "it is about the links that a machine brings; name a machine of penstock list "
                    "hardware, or give links the bandwidth that they reach");
  }
}

}  // namespace penstock
