#pragma once

#include <cstdint>
#include <optional>

#include "experiments/input/scenario/memory_section.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// Memory of a rank, and what it holds in addition to activations.
struct DeviceMemory {
  std::optional<std::uint64_t> capacity_bytes;  // empty: unknown
  MemoryPolicy policy = MemoryPolicy::finding;
  BytesPerParameter kept;
  std::uint32_t zero = 0;
  std::optional<double> gathered_bytes;          // of parameters at a time, with ZeRO-3
  std::optional<std::uint32_t> prefetch_layers;  // gathered ahead, with ZeRO-3; where stated
  double context_bytes = 0;
  double reserve = 0;  // share of the capacity that the allocator cannot use
};

/// Values that the scenario leaves open come from the machine. Throws InputError with a pointer
/// into the scenario.
DeviceMemory settle_memory(const MemorySection& section, const std::optional<Machine>& machine);

}  // namespace penstock
