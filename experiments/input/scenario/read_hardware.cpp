#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/hardware_section.hpp"
#include "experiments/input/scenario/read_network.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// A constant efficiency, or the highest one with the size at which half of it is reached.
std::optional<Efficiency> read_efficiency(const json& hardware, const char* key,
                                          const char* half_at) {
  if (!hardware.contains(key)) return std::nullopt;
  const json& stated = hardware[key];
  if (stated.is_number()) return Efficiency{{{1, stated}}};
  return Efficiency{{{1, stated["most"]}}, stated.value(half_at, 0.0)};
}

/// Reads the settings that override the machine, device or link of the catalogue.
void read_differences(const json& section, HardwareSection& hardware) {
  hardware.efficiency = read_efficiency(section, "efficiency", "half_at_gflop");
  hardware.memory_efficiency = read_efficiency(section, "memory_efficiency", "half_at_mb");
  take(section, "unaligned_efficiency", hardware.unaligned_efficiency);
  take(section, "kernel_us", hardware.kernel_us);
  take(section, "kernel_issue_us", hardware.kernel_issue_us);
  take(section, "link_efficiency", hardware.link_efficiency);
  take(section, "nic_efficiency", hardware.nic_efficiency);
  take(section, "collective_us", hardware.collective_us);
  take(section, "power_watts", hardware.power_watts);
}

/// A name, or a name with constants of one's own.
StackChoice read_stack(const json& stated) {
  StackChoice stack;
  if (stated.is_string()) {
    stack.name = stated;
    return stack;
  }
  take(stated, "name", stack.name);
  take(stated, "matrix_share", stack.matrix_share);
  take(stated, "fp8_share", stack.fp8_share);
  take(stated, "attention_share", stack.attention_share);
  take(stated, "vector_passes", stack.vector_passes);
  take(stated, "computes_masked", stack.computes_masked);
  take(stated, "attention", stack.attention);
  return stack;
}

TransferRules read_transfers(const json& section) {
  TransferRules transfers;
  take(section, "blocking", transfers.blocking);
  take(section, "rendezvous", transfers.rendezvous);
  take(section, "in_flight", transfers.sends_in_flight);
  transfers.receives_in_flight = transfers.sends_in_flight;
  take(section, "sends_in_flight", transfers.sends_in_flight);
  take(section, "receives_in_flight", transfers.receives_in_flight);
  return transfers;
}

}  // namespace

HardwareSection read_hardware(const json& section, const TrainingCommand& command) {
  HardwareSection hardware;
  hardware.devices = command.devices;
  take(section, "name", hardware.name);
  hardware.named = section.contains("name");
  take(section, "file", hardware.file);
  take(section, "device", hardware.device);
  take(section, "link", hardware.link);
  take(section, "profile", hardware.profile);
  if (section.contains("stack")) hardware.stack = read_stack(section["stack"]);
  take(section, "devices", hardware.devices);
  read_differences(section, hardware);
  hardware.names_collectives = section.contains("collectives");
  for (const char* key : {"link", "transfer_us", "latency_us", "bandwidth_bytes_per_s", "links",
                          "routes", "topology"}) {
    hardware.names_links = hardware.names_links || section.contains(key);
  }
  hardware.stated = read_network(section);
  if (section.contains("transfers")) hardware.transfers = read_transfers(section["transfers"]);
  return hardware;
}

}  // namespace penstock
