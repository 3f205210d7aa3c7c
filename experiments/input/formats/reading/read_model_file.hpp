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

// Files of another kind than is read. Each throws InputError, which says what the text is and what
// reads it.

/// A timeline, or a format that holds a run.
void refuse_run(std::string_view text);
/// A format of models.
void refuse_model(std::string_view text);
void refuse_scenario(std::string_view text);

/// Reads a profile in any format, or the currently valid rows of a profile store. Throws InputError
/// with the file's name in front, also for a file of another kind.
Profile read_profile(const std::string& path);

}  // namespace penstock
