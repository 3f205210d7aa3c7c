#pragma once

#include <string>
#include <vector>

#include "experiments/model_files/model_file.hpp"

namespace penstock::testing {

/// Why a text is refused as a model, its place in front, or "accepted".
std::string refusal_of_model(const std::string& text, const std::string& format = "");

/// One side of a text, replaced once; the test fails where it is not there.
std::string replaced(std::string text, const std::string& what, const std::string& by);

/// The files below a folder of those that PENSTOCK_ORACLES names, sorted; none, with a message,
/// where it names nothing.
std::vector<std::string> oracle_files(const std::string& folder);

/// The names of the formats that take a text for one of theirs: "piper", "piper, profile-csv".
std::string recognized_as(const std::string& text);

/// The sums over the layers of a model.
struct ModelTotals {
  double forward_us = 0;
  double backward_us = 0;
  double activation_bytes = 0;
  double stash_bytes = 0;
  double parameter_bytes = 0;
};
ModelTotals totals_of(const ModelGraph& graph);

/// Whether some note of a file contains a text.
bool notes_say(const ModelFile& file, const std::string& text);

}  // namespace penstock::testing
