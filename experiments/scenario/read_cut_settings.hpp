#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "schedules/partitioners/problem/cut_settings.hpp"

namespace penstock {

/// The settings of partitioners in a section "partition", after the schema check.
CutSettings read_cut_settings(const nlohmann::json& section);

/// The same from "key=value" settings, checked against the schema of a scenario. Throws UsageError.
CutSettings cut_settings_of(const std::vector<std::string>& settings);

}  // namespace penstock
