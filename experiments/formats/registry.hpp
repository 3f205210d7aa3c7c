#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "experiments/model_files/model_file.hpp"

namespace penstock {

/// One outside file format. A format is one .cpp of this folder.
struct FormatEntry {
  std::string_view name;
  std::string_view suffix;   // of its files
  std::string_view summary;  // what the files hold, and whether they are read, written or both
  /// Whether a text is of this format, seen cheaply; not set where nothing is read as a model.
  bool (*recognizes)(std::string_view text) = nullptr;
  /// Throws InputError with a place inside the file: a JSON pointer, or a line.
  ModelFile (*read_model)(std::string_view text, const ModelFileOptions& options) = nullptr;
};

/// All formats, by name.
std::span<const FormatEntry* const> format_entries();

}  // namespace penstock
