#pragma once

#include <cstdint>

namespace penstock {

/// Which activations are made again in front of their backward.
enum class RecomputeMode : std::uint8_t { none, full, selective, except_last };

/// What is made again at a time: a layer, just before its own backward, or all of a stage.
enum class RecomputeUnit : std::uint8_t { layer, stage };

}  // namespace penstock
