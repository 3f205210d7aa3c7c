#pragma once

#include <string>
#include <string_view>

#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/spec/hardware_spec.hpp"

namespace penstock {

/// Reads a model of any known format. Throws InputError with the file's name in front.
ModelFile read_model_file(const std::string& path, const ModelFileOptions& options = {});

/// The same for text in memory; errors have only a place inside the file.
ModelFile parse_model_file(const std::string& text, const ModelFileOptions& options = {});

/// Throws InputError for a text of a format that holds a run, and no model or scenario.
void refuse_run(std::string_view text);

/// Reads a profile in any format, or the currently valid rows of a profile store. Throws InputError
/// with the file's name in front, also for a file of another kind.
Profile read_profile(const std::string& path);

}  // namespace penstock
