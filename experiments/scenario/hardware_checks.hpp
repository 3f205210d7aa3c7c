#pragma once

#include <optional>
#include <string>

#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// Throws InputError at a key of the "hardware" of a scenario, with the file's name in front.
[[noreturn]] void refuse_hardware(const Scenario& scenario, const char* key,
                                  const std::string& what);

/// Whether a name is that of a cost model, not of a thing of the catalogue.
bool is_cost_model(const std::string& name);

/// Refuses keys that name the same thing twice, and those that go with another name.
void check_names(const Scenario& scenario);

/// Refuses what is about a device where there is none, or about links where they have other keys.
void check_differences(const Scenario& scenario, const std::optional<Machine>& machine);

}  // namespace penstock
