#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// The registry entry with this name, or nullptr.
template <class Entry>
const Entry* find_named(std::span<const Entry* const> entries, std::string_view name) {
  for (const Entry* entry : entries) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

/// The names of a registry, for error texts: "1f1b, gpipe, naive".
template <class Entry>
std::string names_of(std::span<const Entry* const> entries) {
  std::string names;
  for (const Entry* entry : entries) {
    if (!names.empty()) names += ", ";
    names += entry->name;
  }
  return names;
}

}  // namespace penstock
