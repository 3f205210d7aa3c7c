#pragma once

// For precompiled headers: units that are compiled with them leave the members of these templates
// to json_templates.cpp, which saves a tenth of their time. No source includes it.
#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
