#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/numbers.hpp"

namespace penstock::testing {

/// The layers of each stage.
using StageLayers = std::vector<std::vector<LayerIndex>>;

/// Why a text is refused as a model, prefixed with the position, or "accepted".
std::string refusal_of_model(const std::string& text, const std::string& format = "");

/// Replaces one occurrence in a text; fails the test if it is missing.
std::string replaced(std::string text, const std::string& what, const std::string& by);

/// The sorted files below a folder of PENSTOCK_ORACLES; none, with a message, if that is not set.
std::vector<std::string> oracle_files(const std::string& folder);

/// The formats that recognise a text: "piper", "piper, profile-csv".
std::string recognized_as(const std::string& text);

/// Sums over the layers of a model.
struct ModelTotals {
  double forward_us = 0;
  double backward_us = 0;
  double activation_bytes = 0;
  double stash_bytes = 0;
  double parameter_bytes = 0;
};
ModelTotals totals_of(const ModelGraph& graph);

/// Whether a note of a file contains a text.
bool has_note(const ModelFile& file, std::string_view text);

/// The first layer of a kind. Throws std::runtime_error if there is none.
LayerSpec layer(const ModelFile& file, const std::string& kind);

/// "0011": which layers have experts.
std::string expert_layers(const ModelFile& file);

}  // namespace penstock::testing
