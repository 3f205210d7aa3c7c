#pragma once

#include <cstdint>

#include "validate/backends/cuda/arithmetic/both.hpp"

namespace penstock {

/// What a tensor holds at a position, by the transfer that carries it: two tensors have hardly any
/// number in common.
PENSTOCK_BOTH std::uint32_t content_at(std::uint32_t transfer, std::uint64_t position) {
  std::uint64_t mixed = (position + 1) * 0x9E3779B97F4A7C15ULL + transfer * 0xD1B54A32D192ED03ULL;
  mixed ^= mixed >> 32;
  mixed *= 0xBF58476D1CE4E5B9ULL;
  return static_cast<std::uint32_t>(mixed >> 32);
}

}  // namespace penstock
