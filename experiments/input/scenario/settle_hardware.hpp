#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/long_work/memo.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/input/scenario/take_stack.hpp"
#include "hardware_models/spec/hardware_spec.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// The hardware of a scenario: machine, links and profile.
struct Hardware {
  std::string cost_model;
  HardwareSpec spec;                     // except ranks and degrees
  std::vector<std::string> notes;        // assumptions for this scenario
  std::optional<Confidence> confidence;  // of kernels that a stack prices
};

/// A machine or device of the catalogue, and the device in place of the machine's own.
struct MachineNames {
  std::string name;
  std::string device;  // empty: its own

  bool operator==(const MachineNames&) const = default;
};
inline std::size_t hash_of(const MachineNames& names) {
  return hash_of_all(names.name, names.device);
}

/// Machines of one catalogue by their names.
using MachinesByName = Memo<MachineNames, const Machine>;

/// Whether hardware names anything of the catalogue.
bool uses_catalogue(const HardwareSection& hardware);

/// Looks up the hardware of a scenario. Reads the catalogue if none is given; `machines`, if given,
/// are of this one. Throws InputError that starts with the name of the faulty file.
Hardware settle_hardware(const Scenario& scenario, const Catalogue* known = nullptr,
                         MachinesByName* machines = nullptr);

}  // namespace penstock
