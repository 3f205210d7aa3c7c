#pragma once

#include <cstdint>

namespace penstock {

/// The most hardware queues for streams. With fewer queues than streams, some streams wait for
/// others unnoticed by the program.
constexpr std::uint32_t most_hardware_queues = 32;

/// The number of queues by CUDA_DEVICE_MAX_CONNECTIONS; null when unset.
std::uint32_t hardware_queues(const char* setting);

}  // namespace penstock
