#include "experiments/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/files.hpp"
#include "experiments/formats/registry.hpp"
#include "sim/error.hpp"
#include "sim/named.hpp"

namespace penstock {
namespace {

/// The names of the formats that are read as models.
std::string known_formats() {
  std::vector<std::string_view> names;
  for (const FormatEntry* entry : format_entries()) {
    if (entry->read_model != nullptr) names.push_back(entry->name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

const FormatEntry& format_of(const std::string& text, const ModelFileOptions& options) {
  if (!options.format.empty()) {
    const FormatEntry* entry = find_named(format_entries(), options.format);
    if (entry != nullptr && entry->read_model != nullptr) return *entry;
    throw InputError("", fmt::format("\"{}\" is no format that a model is read from; known: {}",
                                     options.format, known_formats()));
  }
  for (const FormatEntry* entry : format_entries()) {
    if (entry->recognizes != nullptr && entry->recognizes(text)) return *entry;
  }
  throw InputError("", fmt::format("this is none of the formats that a model is read from: {}",
                                   known_formats()));
}

}  // namespace

ModelFile parse_model_file(const std::string& text, const ModelFileOptions& options) {
  const FormatEntry& format = format_of(text, options);
  ModelFile file = format.read_model(text, options);
  file.format = format.name;
  return file;
}

ModelFile read_model_file(const std::string& path, const ModelFileOptions& options) {
  const std::string text = read_file(path);
  try {
    return parse_model_file(text, options);
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

}  // namespace penstock
