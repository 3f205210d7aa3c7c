#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "experiments/input/model_files/launch.hpp"
#include "experiments/input/model_files/model_file.hpp"

namespace penstock {

/// An outside file format, one .cpp in this folder.
struct FormatEntry {
  std::string_view name;
  std::string_view suffix;   // of its files
  std::string_view summary;  // content, and whether it is read, written or both
  /// Whether a text has this format, by a cheap check; null for formats that are neither read as
  /// models nor mistaken for one.
  bool (*recognizes)(std::string_view text) = nullptr;
  /// Throws InputError with a place inside the file: a JSON pointer, or a line.
  ModelFile (*read_model)(std::string_view text, const ModelFileOptions& options) = nullptr;
  /// The files that start a training; null for formats that start none.
  std::vector<LaunchFile> (*write_launch)(const TrainingLaunch& launch) = nullptr;
  /// Where a scenario names such a file.
  std::string_view place = "/model/file";
};

/// Sorted by name.
std::span<const FormatEntry* const> format_entries();

}  // namespace penstock
