#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/catalogue/stacks.hpp"
#include "experiments/input/long_work/memo.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "hardware_models/spec/hardware_spec.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// How sure the times of kernels are.
struct Confidence {
  double spread = 0;  // relative standard deviation of a step time
  std::string because;
  Provenance provenance;
};

/// The hardware of a scenario: machine, links and profile.
struct Hardware {
  std::string cost_model;
  HardwareSpec spec;                     // except ranks and degrees
  std::vector<std::string> notes;        // assumptions for this scenario
  std::optional<Confidence> confidence;  // of kernels that a stack prices
};

/// Machines of one catalogue by their names.
using MachinesByName = Memo<std::string, const Machine>;

/// Whether hardware names anything of the catalogue.
bool uses_catalogue(const HardwareSection& hardware);

/// Looks up the hardware of a scenario. Reads the catalogue if none is given; `machines`, if given,
/// are of this one. Throws InputError that starts with the name of the faulty file.
Hardware settle_hardware(const Scenario& scenario, const Catalogue* known = nullptr,
                         MachinesByName* machines = nullptr);

/// Throws InputError at a key of "hardware", with the scenario's file name in front.
[[noreturn]] void refuse_hardware(const Scenario& scenario, const char* key,
                                  const std::string& what);

/// Whether this is the name of a cost model, not of a catalogue item.
bool is_cost_model(const std::string& name);

/// Refuses keys that name the same thing twice or conflict with the name.
void check_names(const Scenario& scenario);

/// Refuses device keys without a device, and link keys where other keys describe the links.
void check_differences(const Scenario& scenario, const std::optional<Machine>& machine);

/// Adds the machine or device of the scenario's own file to the catalogue. Returns its name.
std::string add_own_item(const Scenario& scenario, Catalogue& catalogue);

/// The machine or device that the scenario names; nullptr for a cost model only. `name` is the name
/// of its hardware. Throws InputError for an unknown name.
const CatalogueItem* machine_item(const Scenario& scenario, const std::string& name,
                                  const Catalogue& catalogue);

/// Gives the device of the hardware the constants of the scenario's stack: the named one, or
/// the usual one of its kind of training if that lists the device. Notes which, and how sure its
/// step times are. Throws InputError for an unknown name.
void take_stack(const Scenario& scenario, const Catalogue& catalogue, Hardware& hardware);

}  // namespace penstock
