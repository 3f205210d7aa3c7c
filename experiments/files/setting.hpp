#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace penstock {

/// Key and value of an option, from "key=value" or a scenario's "/section/key=value". The value may
/// be JSON, as in a scenario: "\"ascending\"" is ascending. Throws UsageError.
std::pair<std::string, std::string> option_setting(const std::string& setting,
                                                   std::string_view section);

}  // namespace penstock
