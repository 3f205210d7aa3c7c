#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace penstock {

/// Key and value of an option that is set with "key=value", or with the "/section/key=value" of a
/// scenario. The value may be JSON, as there: "\"ascending\"" is ascending. Throws UsageError.
std::pair<std::string, std::string> option_setting(const std::string& setting,
                                                   std::string_view section);

}  // namespace penstock
