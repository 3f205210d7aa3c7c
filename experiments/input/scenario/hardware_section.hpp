#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// Rules of transfers.
struct TransferRules {
  bool blocking = false;              // a rank waits until its data has left
  bool rendezvous = false;            // a transfer starts only when its reader waits for it
  std::uint32_t sends_in_flight = 0;  // of a rank at a time; 0: no limit
  std::uint32_t receives_in_flight = 0;
};

/// What a framework makes of the device.
struct StackChoice {
  std::string name;        // in the catalogue, "none", or empty: by the scenario
  std::string own = "{}";  // constants that replace those of the stack, as JSON
};

/// "hardware": a cost model or a catalogue item by name, files, numbers, and settings that override
/// them.
struct HardwareSection {
  std::string name = "ideal";  // a cost model, or a machine or device of the catalogue
  bool named = false;          // the scenario states the name
  std::string file;            // of a machine or device
  std::string device;          // of the catalogue, in place of the machine's own
  std::string link;
  std::string profile;  // a file
  StackChoice stack;
  std::string usual_stack;  // of the framework that trains; empty: by the ZeRO level
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
  std::optional<double> power_watts;  // a cap
  std::string device_setting;         // a stated key about a device, if any
  std::string link_setting;           // a stated key about the links of a machine, if any
  bool names_links = false;           // states in some way how ranks are connected
};

const Fields& hardware_fields();
/// Those of plain links.
const Fields& fields_of(const HardwareSpec& spec);

/// Reads the section, after the schema check. The number of devices defaults to that of the
/// training command. Throws InputError for an unknown algorithm.
HardwareSection read_hardware(const nlohmann::json& section, const TrainingCommand& command);

}  // namespace penstock
