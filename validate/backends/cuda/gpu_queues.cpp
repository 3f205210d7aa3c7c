#include "validate/backends/cuda/gpu_queues.hpp"

#include <algorithm>
#include <cstdlib>

namespace penstock {

std::uint32_t hardware_queues(const char* setting) {
  // Without a setting, or (assumed) with one that is not a number.
  constexpr std::uint32_t usual = 8;
  if (setting == nullptr) return usual;
  char* end = nullptr;
  const long value = std::strtol(setting, &end, 10);
  if (end == setting || *end != '\0' || value < 1) return usual;
  return static_cast<std::uint32_t>(std::min(value, long{most_hardware_queues}));
}

}  // namespace penstock
