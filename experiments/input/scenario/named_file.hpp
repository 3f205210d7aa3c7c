#pragma once

#include <string>

namespace penstock {

/// The file that a scenario names at `pointer`, relative to the scenario's folder. Throws
/// InputError if there is no such file. The error states the folder that the path was resolved
/// against, and the right path if the working folder has the file.
std::string named_file(const std::string& source, const std::string& folder, const char* pointer,
                       const std::string& path);

}  // namespace penstock
