#pragma once

#include <cstdint>

namespace penstock {

/// Which activations are recomputed before their backward.
enum class RecomputeMode : std::uint8_t { none, full, selective, except_last };

/// The unit of recomputation: a layer, just before its backward, or a whole stage.
enum class RecomputeUnit : std::uint8_t { layer, stage };

}  // namespace penstock
