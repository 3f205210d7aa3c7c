#pragma once

#include <string>

#include "hardware_models/spec/hardware_spec.hpp"

namespace penstock {

/// Reads a profile in any format, or the currently valid rows of a profile store. Throws InputError
/// with the file's name in front, also for a file of another kind.
Profile read_profile(const std::string& path);

}  // namespace penstock
