#include "experiments/run/layout/layout.hpp"

#include <cmath>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

BytesPerParameter kept_of(const MemorySection& section) {
  if (section.bytes_per_parameter) return *section.bytes_per_parameter;
  return bytes_per_parameter(section.precision, section.optimizer);
}

}  // namespace

DeviceMemory settle_memory(const MemorySection& section, const std::optional<Machine>& machine) {
  DeviceMemory memory{.capacity_bytes = section.capacity_bytes,
                      .policy = section.policy,
                      .kept = kept_of(section),
                      .zero = section.zero,
                      .gathered_bytes = section.gathered_bytes,
                      .prefetch_layers = section.prefetch_layers,
                      .context_bytes = section.context_bytes.value_or(0),
                      .reserve = section.reserve.value_or(0)};
  if (machine) {
    const Device& device = machine->device;
    const auto capacity = static_cast<std::uint64_t>(std::floor(device.memory_bytes));
    memory.capacity_bytes = section.capacity_bytes.value_or(capacity);
    memory.context_bytes =
        section.context_bytes.value_or(device.context_bytes + machine->communication_bytes);
    memory.reserve = section.reserve.value_or(device.reserve);
  }
  if (memory.reserve != 0 && !memory.capacity_bytes) {
    throw InputError("/memory/reserve",
                     "it is a fraction of a capacity; give \"capacity_bytes\" too");
  }
  return memory;
}

}  // namespace penstock
