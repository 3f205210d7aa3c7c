#pragma once

#include <string_view>

namespace penstock {

/// The SHA-256, in hexadecimal, of the sources of the kernels that are measured here and of the
/// compiler and flags that they are built with: measurements hold for kernels of the same hash.
std::string_view kernels_build();

}  // namespace penstock
