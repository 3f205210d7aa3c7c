#include "tests/support/model_files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {

std::string refusal_of_model(const std::string& text, const std::string& format) {
  const ModelFileOptions options{.format = format};
  return refused_at([&] { parse_model_file(text, options); });
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE_MESSAGE(at != std::string::npos, what);
  return text.replace(at, what.size(), by);
}

std::vector<std::string> oracle_files(const std::string& folder) {
  namespace fs = std::filesystem;
  const char* root = std::getenv("PENSTOCK_ORACLES");
  if (root == nullptr || *root == '\0') {
    MESSAGE("skipped: PENSTOCK_ORACLES does not name the folder of recorded files");
    return {};
  }
  std::vector<std::string> files;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(fs::path(root) / folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  REQUIRE(!files.empty());
  std::sort(files.begin(), files.end());
  return files;
}

std::string recognized_as(const std::string& text) {
  std::vector<std::string_view> names;
  for (const FormatEntry* entry : format_entries()) {
    if (entry->recognizes != nullptr && entry->recognizes(text)) names.push_back(entry->name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

ModelTotals totals_of(const ModelGraph& graph) {
  ModelTotals totals;
  for (const Layer& layer : graph.layers) {
    totals.forward_us += layer.forward_us.value_or(0);
    totals.backward_us += layer.backward_us.value_or(0);
    totals.activation_bytes += layer.activation_bytes;
    totals.stash_bytes += layer.stash_bytes;
    totals.parameter_bytes += layer.parameter_bytes;
  }
  return totals;
}

bool has_note(const ModelFile& file, std::string_view text) {
  return std::any_of(file.notes.begin(), file.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

LayerSpec layer(const ModelFile& file, const std::string& kind) {
  for (const BlockSpec& block : file.spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      if (part.kind == kind) return part;
    }
  }
  throw std::runtime_error("no layer is of kind " + kind);
}

std::string expert_layers(const ModelFile& file) {
  std::string text;
  for (const BlockSpec& block : file.spec.blocks) {
    if (block.cut_evenly) text += block.parts.back().kind == "moe" ? '1' : '0';
  }
  return text;
}

}  // namespace penstock::testing
