#pragma once

#include <string>
#include <vector>

namespace penstock {

/// The folder of the running program; empty if the system does not tell.
std::string program_folder();

/// The path of an input that a user names. A file or folder that exists is meant itself. Otherwise
/// it is looked for among the scenarios, models and papers that come with Penstock:
/// "first_run.json", "gpipe", or "experiments/papers/gpipe" as in the source tree. Gives `path`
/// itself if there is none. They are in $PENSTOCK_DATA, else in ../share/penstock of the program's
/// folder, installed or built.
std::string input_path(const std::string& path);

/// The names in one of their folders, "scenarios", "models" or "papers", that begin as typed; none
/// where a file in the working folder does, which shells offer then.
std::vector<std::string> shipped_names(const std::string& folder, const std::string& typed);

/// For the error of a file that is not found: what is wrong with $PENSTOCK_DATA, if anything is.
std::string why_not_shipped(const std::string& path);

}  // namespace penstock
