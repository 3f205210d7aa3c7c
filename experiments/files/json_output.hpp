#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace penstock {

/// What is printed keeps the order in which it was put together.
using ordered_json = nlohmann::ordered_json;

/// A document as it is printed, its last line ended. Names that came from files may hold any bytes;
/// those that no text has are replaced.
std::string printed(const ordered_json& document);

/// The number, or null where there is none.
ordered_json number_or_null(const std::optional<double>& number);

}  // namespace penstock
