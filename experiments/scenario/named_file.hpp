#pragma once

#include <string>

namespace penstock {

/// The file that a scenario names at `pointer`, relative to the scenario's folder. Throws InputError
/// when there is no such file; it says what the path was resolved against and, where the working
/// folder has that file, which path is right.
std::string named_file(const std::string& source, const std::string& folder, const char* pointer,
                       const std::string& path);

}  // namespace penstock
