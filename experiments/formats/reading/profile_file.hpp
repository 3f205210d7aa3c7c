#pragma once

#include <string>

#include "hardware_models/spec/profile.hpp"

namespace penstock {

/// Reads a file of any format that holds a profile, or a profile store, of which the rows count
/// that hold today. Throws InputError with the file's name in
/// front, also where the file holds something else.
Profile read_profile(const std::string& path);

}  // namespace penstock
