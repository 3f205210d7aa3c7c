#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/plan/sweeps/space/sweep_space.hpp"

namespace penstock {

/// The scenario of a configuration, with JSON texts of its values. Throws InputError or UsageError
/// for a pointer that does not fit the base scenario.
nlohmann::json configured(const SweepSpace& space, const std::vector<std::string>& values);

/// The same of any base, with the pointers of the values.
nlohmann::json configured(const nlohmann::json& base, const std::vector<std::string>& pointers,
                          const std::vector<std::string>& values);

/// Throws InputError for a pointer to a key that no scenario has, and InputError or UsageError for
/// one that does not fit the base scenario. A text of --vary that its key cannot take, such as
/// "four" for a number, is a UsageError; any other wrong value is a row with its reason.
void check_pointers(const SweepSpace& space);

}  // namespace penstock
