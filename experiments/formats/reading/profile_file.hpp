#pragma once

#include <string>

#include "experiments/model_files/model_file.hpp"

namespace penstock {

/// Reads a file of any format that holds a profile, or a profile store, of which the rows count
/// that hold today. Throws InputError with the file's name in
/// front, also where the file holds something else.
Profile read_profile(const std::string& path);

/// The graph of a profile's layers with what they take in a microbatch of so many examples.
ModelGraph graph_at(const ModelFile& file, double examples);

}  // namespace penstock
