#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penstock {

/// A document as it is printed, its last line ended. Names that came from files may hold any bytes;
/// those that no text has are replaced.
std::string printed(const nlohmann::ordered_json& document);

}  // namespace penstock
