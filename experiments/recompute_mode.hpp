#pragma once

#include <cstdint>

namespace penstock {

/// Which activations are made again in front of their backward.
enum class RecomputeMode : std::uint8_t { none, full, selective, except_last };

}  // namespace penstock
