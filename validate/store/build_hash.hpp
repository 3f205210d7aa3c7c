#pragma once

#include <string_view>

namespace penstock {

/// SHA-256, in hexadecimal, of the sources of the measured kernels, the compiler and its flags.
/// Measurements are valid for kernels of the same hash.
std::string_view kernels_build();

}  // namespace penstock
