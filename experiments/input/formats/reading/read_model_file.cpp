#include "experiments/input/formats/reading/read_model_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/input/profiles/profile_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/timeline/timeline_sections.hpp"
#include "validate/store/store_file.hpp"

namespace penstock {
namespace {

/// The names of the model formats.
std::string known_formats() {
  return joined(format_entries(), [](const FormatEntry* entry) {
    return entry->read_model != nullptr ? entry->name : "";
  });
}

/// Whether a text is a scenario of ours, which names its model.
bool is_scenario(std::string_view text) {
  if (!is_json(text)) return false;
  const auto document = parse_json(text);
  return document.is_object() && document.contains("penstock") && document.contains("model");
}

/// The format of a text, where it is a known one.
const FormatEntry* recognized(std::string_view text) {
  for (const FormatEntry* entry : format_entries()) {
    if (entry->recognizes != nullptr && entry->recognizes(text)) return entry;
  }
  return nullptr;
}

const FormatEntry& format_of(std::string_view text, const ModelFileOptions& options) {
  if (!options.format.empty()) {
    const FormatEntry* entry = find_named(format_entries(), options.format);
    if (entry != nullptr && entry->read_model != nullptr) return *entry;
    throw InputError(
        "", fmt::format("unknown model format \"{}\"; known: {}", options.format, known_formats()));
  }
  refuse_run(text);
  if (const FormatEntry* entry = recognized(text)) return *entry;
  if (is_scenario(text)) {
    throw InputError("", fmt::format("it is a scenario; give the file of a model, such as its "
                                     "/model/file; known formats: {}",
                                     known_formats()));
  }
  throw InputError("", fmt::format("unrecognised model format; known: {}", known_formats()));
}

}  // namespace

void refuse_run(std::string_view text) {
  if (text.starts_with(std::string_view(timeline_magic.data(), timeline_magic.size()))) {
    throw InputError("it is a timeline; penstock explain reads it");
  }
  for (const FormatEntry* entry : format_entries()) {
    const bool is_run = entry->recognizes != nullptr && entry->read_model == nullptr;
    if (is_run && entry->recognizes(text)) {
      throw InputError(fmt::format("its format is {}: {}", entry->name, entry->summary));
    }
  }
}

void refuse_model(std::string_view text) {
  const FormatEntry* const entry = recognized(text);
  if (entry == nullptr || entry->read_model == nullptr) return;
  throw InputError(fmt::format("its format is {}: {}; a scenario names it under {}", entry->name,
                               entry->summary, entry->place));
}

void refuse_scenario(std::string_view text) {
  if (is_scenario(text)) throw InputError("it is a scenario; penstock run simulates it");
}

ModelFile parse_model_file(const std::string& text, const ModelFileOptions& options) {
  const std::string_view content = without_byte_order_mark(text);
  const FormatEntry& format = format_of(content, options);
  ModelFile file = format.read_model(content, options);
  file.format = format.name;
  for (std::string& note : file.notes) note = valid_text(note);
  return file;
}

ModelFile read_model_file(const std::string& path, const ModelFileOptions& options) {
  const std::string text = read_configuration(path);
  return about_file(path, [&] { return parse_model_file(text, options); });
}

Profile read_profile(const std::string& path) {
  if (looks_like_store(path)) {
    return layer_profile(judged_rows(ProfileStore(path), today_here())).profile;
  }
  ModelFile file = read_model_file(path);
  if (file.profile.entries.empty()) {
    throw in_file(path, InputError("", fmt::format("it is a file of the format {}, which holds no "
                                                   "profile of layers at microbatch sizes",
                                                   file.format)));
  }
  file.profile.source = path;
  return std::move(file.profile);
}

}  // namespace penstock
