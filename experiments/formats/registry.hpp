#pragma once

#include <span>
#include <string_view>

namespace penstock {

/// One outside file format. A format is one .cpp of this folder.
struct FormatEntry {
  std::string_view name;
  std::string_view suffix;   // of its files
  std::string_view summary;  // what the files hold, and whether they are read, written or both
};

/// All formats, by name.
std::span<const FormatEntry* const> format_entries();

}  // namespace penstock
