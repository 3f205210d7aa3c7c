#include "experiments/model_files/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/files/files.hpp"
#include "experiments/files/plain_text.hpp"
#include "experiments/formats/reading/profile_file.hpp"
#include "experiments/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

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

const FormatEntry& format_of(std::string_view text, const ModelFileOptions& options) {
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

/// The fewest examples that every layer was measured at, or more.
double usual_examples(const Profile& profile) {
  double examples = 0;
  for (const ProfileEntry& entry : profile.entries) {
    examples = std::max(examples, entry.points.front().examples);
  }
  return examples;
}

void scale(std::optional<double>& value, double factor) {
  if (value) *value *= factor;
}

/// Costs in proportion to the examples of a microbatch.
void scale(ModelGraph& model, double factor) {
  for (Layer& layer : model.layers) {
    for (auto* time : {&layer.forward_us, &layer.backward_us, &layer.backward_input_us,
                       &layer.backward_weight_us}) {
      scale(*time, factor);
    }
    for (double* bytes : {&layer.activation_bytes, &layer.stash_bytes, &layer.workspace_bytes}) {
      *bytes *= factor;
    }
  }
}

}  // namespace

double usual_sequence(std::optional<double> max_sequence) {
  constexpr double usual = 4096;
  return std::min(usual, max_sequence.value_or(usual));
}

bool has_tokens(const ModelSpec& spec) {
  for (const BlockSpec& block : spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      if (part.kind == "embedding" || part.kind == "attention" || part.kind == "mla") return true;
    }
  }
  return false;
}

ModelGraph graph_by_times(const ModelFile& file, std::optional<double> microbatch,
                          std::optional<double> profiled_microbatch) {
  if (file.profile.entries.empty()) {
    ModelGraph model = file.graph;
    if (profiled_microbatch && microbatch) scale(model, *microbatch / *profiled_microbatch);
    return model;
  }
  return graph_at(file, microbatch.value_or(usual_examples(file.profile)));
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
  const std::string text = read_file(path);
  try {
    return parse_model_file(text, options);
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

}  // namespace penstock
