#pragma once

#include <optional>
#include <string>

#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// Throws InputError at a key of "hardware", with the scenario's file name in front.
[[noreturn]] void refuse_hardware(const Scenario& scenario, const char* key,
                                  const std::string& what);

/// Whether this is the name of a cost model, not of a catalogue item.
bool is_cost_model(const std::string& name);

/// Refuses keys that name the same thing twice or conflict with the name.
void check_names(const Scenario& scenario);

/// Refuses device keys without a device, and link keys where other keys describe the links.
void check_differences(const Scenario& scenario, const std::optional<Machine>& machine);

}  // namespace penstock
