#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/catalogue/catalogue.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

struct Scenario;

/// What a scenario says of its hardware beside numbers: names of things in the catalogue, files,
/// and what differs from what they say.
struct HardwareChoice {
  std::string file;    // of a machine or device
  std::string device;  // by its name in the catalogue
  std::string link;
  std::string profile;  // a file
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

/// Reads the choice from the "hardware" of a scenario; the schema has checked it.
HardwareChoice read_hardware_choice(const nlohmann::json& hardware);

/// Looks up what a scenario names, and fills in its machine, its links, its profile and, where it
/// states none, its capacity, contexts, reserve and warm-up. The catalogue is read where none is
/// given. Throws InputError with the name of the file that is at fault in front.
void settle_hardware(Scenario& scenario, const Catalogue* known = nullptr);

/// The cost model of a settled scenario: what it names, or that of a machine.
std::string_view cost_model_of(const Scenario& scenario);

}  // namespace penstock
