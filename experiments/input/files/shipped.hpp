#pragma once

#include <string>

namespace penstock {

/// The folder of the running program; empty if the system does not tell.
std::string program_folder();

/// The path of an input that a user names. A file or folder that exists is meant itself. Otherwise
/// it is looked for among the scenarios, models and papers that come with Penstock:
/// "first_run.json", "gpipe", or "experiments/papers/gpipe" as in the source tree. Gives `path`
/// itself if there is none. They are in $PENSTOCK_DATA, else in ../share/penstock of the program's
/// folder, installed or built.
std::string input_path(const std::string& path);

}  // namespace penstock
