#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace penstock {

/// Keeps keys in insertion order.
using ordered_json = nlohmann::ordered_json;

/// A document as printed, with a final newline. Replaces bytes that are not valid UTF-8, since
/// names may come from files.
std::string printed(const ordered_json& document);

/// The value, or what `make` gives for it; null without one.
template <class Value, class Make = std::identity, class Json = ordered_json>
Json or_null(const std::optional<Value>& value, Make make = {}) {
  return value ? Json(std::invoke(make, *value)) : Json();
}

/// What `make` gives for each item.
template <class Items, class Make = std::identity, class Json = ordered_json>
Json list_json(const Items& items, Make make = {}) {
  Json all = Json::array();
  for (const auto& item : items) all.push_back(std::invoke(make, item));
  return all;
}

}  // namespace penstock
