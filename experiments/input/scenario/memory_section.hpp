#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/model_files/model_file.hpp"

namespace penstock {

/// What happens when a rank needs more memory than it has.
enum class MemoryPolicy : std::uint8_t { finding, stall };

/// "memory": capacity of the ranks, and what they hold in addition to activations.
struct MemorySection {
  std::optional<std::uint64_t> capacity_bytes;  // default: the machine's device
  MemoryPolicy policy = MemoryPolicy::finding;
  Optimizer optimizer = Optimizer::none;
  Precision precision = Precision::bf16;
  std::optional<BytesPerParameter> bytes_per_parameter;  // instead of these two
  std::uint32_t zero = 0;
  std::optional<double> gathered_bytes;          // of parameters at a time, with ZeRO-3
  std::optional<std::uint32_t> prefetch_layers;  // gathered ahead, with ZeRO-3
  std::optional<double> context_bytes;           // default: the machine's device
  std::optional<double> reserve;                 // of the capacity; same default
};

const Fields& memory_fields();

/// Reads the section, after the schema check; `usual` has the defaults. Throws InputError with a
/// pointer into the scenario.
MemorySection read_memory(const nlohmann::json& section, const MemorySection& usual);

}  // namespace penstock
