#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "experiments/model_files/model_file.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// How transfers take place.
struct TransferRules {
  bool blocking = false;        // a rank goes on only when what it sends has left
  bool rendezvous = false;      // a transfer starts only when its reader waits for it
  std::uint32_t in_flight = 0;  // that a rank sends, or receives, at a time; 0: any
};

/// "hardware": a cost model or a thing of the catalogue by its name, files, numbers, and what
/// differs from what these say.
struct HardwareSection {
  std::string name = "ideal";  // a cost model, or a machine or device of the catalogue
  bool named = false;          // the scenario says so itself
  std::string file;            // of a machine or device
  std::string device;          // by its name in the catalogue
  std::string link;
  std::string profile;  // a file
  std::optional<std::uint32_t> devices;

  HardwareSpec stated;  // links, routes, topology, collectives and host
  TransferRules transfers;

  std::optional<Efficiency> efficiency;
  std::optional<Efficiency> memory_efficiency;
  std::optional<double> unaligned_efficiency;
  std::optional<double> kernel_us;
  std::optional<double> kernel_issue_us;
  std::optional<double> link_efficiency;
  std::optional<double> nic_efficiency;
  std::optional<double> collective_us;
  bool names_collectives = false;
  bool names_links = false;  // says in any way how ranks reach each other
};

/// Reads the section, which the schema has checked; a training command stands in for the number of
/// devices. Throws InputError for an algorithm that there is not.
HardwareSection read_hardware(const nlohmann::json& section, const TrainingCommand& command);

}  // namespace penstock
