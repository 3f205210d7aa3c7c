#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// What shell completion offers for values, given what is typed of them.

std::vector<std::string> suggested_schedules(std::string_view typed);
/// Schedules, as a list with commas: those that are typed stay.
std::vector<std::string> suggested_schedule_lists(std::string_view typed);
/// Machines of the catalogue and cost models.
std::vector<std::string> suggested_hardware(std::string_view typed);
/// Machines of the catalogue alone.
std::vector<std::string> suggested_machines(std::string_view typed);
/// Formats that models are read from.
std::vector<std::string> suggested_model_formats(std::string_view typed);
std::vector<std::string> suggested_architectures(std::string_view typed);
/// "/POINTER=" for every key of a scenario; behind the equals sign, the values that are known.
std::vector<std::string> suggested_settings(std::string_view typed);

}  // namespace penstock
