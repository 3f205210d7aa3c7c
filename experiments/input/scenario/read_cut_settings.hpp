#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/partitioners/problem/cut_settings.hpp"

namespace penstock {

/// The settings of a partitioner in a section "partition", after the schema check. Throws
/// InputError for one that it does not read.
CutSettings read_cut_settings(const nlohmann::json& section, std::string_view partitioner);

/// The same from "key=value" settings, checked against the schema of a scenario. Throws UsageError.
CutSettings cut_settings_of(const std::vector<std::string>& settings, std::string_view partitioner);

}  // namespace penstock
