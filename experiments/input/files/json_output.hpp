#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace penstock {

/// Keeps keys in insertion order.
using ordered_json = nlohmann::ordered_json;

/// A document as printed, with a final newline. Replaces bytes that are not valid UTF-8, since
/// names may come from files.
std::string printed(const ordered_json& document);

/// The number, or null without one.
ordered_json number_or_null(const std::optional<double>& number);

}  // namespace penstock
