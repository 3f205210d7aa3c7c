#pragma once

#include <cstdint>

namespace penstock {

/// The most hardware queues that streams can have, each one of its own; with fewer queues than
/// streams, some wait for others that no program knows of.
constexpr std::uint32_t most_hardware_queues = 32;

/// How many there are by what CUDA_DEVICE_MAX_CONNECTIONS says; null where nothing does.
std::uint32_t hardware_queues(const char* setting);

}  // namespace penstock
