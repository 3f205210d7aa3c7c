#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/memory_section.hpp"
#include "experiments/input/scenario/named_value.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// Optimizer and gradient bytes: by name, or as numbers.
void read_optimizer(const json& section, MemorySection& memory) {
  constexpr std::array optimizers{"none", "sgd", "momentum", "adam"};
  constexpr std::array precisions{"bf16", "fp16", "fp32"};
  if (section.contains("optimizer")) {
    memory.optimizer = enumerator<Optimizer>(section["optimizer"], optimizers);
  }
  if (section.contains("precision")) {
    memory.precision = enumerator<Precision>(section["precision"], precisions);
  }
  if (!section.contains("bytes_per_parameter")) return;
  for (const char* key : {"optimizer", "precision"}) {
    if (!section.contains(key)) continue;
    throw InputError(
        fmt::format("/memory/{}", key),
        fmt::format("\"{}\" conflicts with \"bytes_per_parameter\"; give one of them", key));
  }
  const json& bytes = section["bytes_per_parameter"];
  memory.bytes_per_parameter =
      BytesPerParameter{bytes["parameter"], bytes["gradient"], bytes["optimizer"]};
}

}  // namespace

MemorySection read_memory(const json& section, const MemorySection& usual) {
  MemorySection memory = usual;
  if (section.contains("capacity_bytes")) {
    memory.capacity_bytes =
        static_cast<std::uint64_t>(std::floor(section["capacity_bytes"].get<double>()));
  }
  if (section.value("policy", "finding") == "stall") memory.policy = MemoryPolicy::stall;
  read_optimizer(section, memory);
  take(section, "zero", memory.zero);
  take(section, "gathered_bytes", memory.gathered_bytes);
  if (memory.gathered_bytes && memory.zero != 3) {
    throw InputError("/memory/gathered_bytes", "gathered_bytes needs zero=3");
  }
  take(section, "prefetch_layers", memory.prefetch_layers);
  if (memory.prefetch_layers && memory.zero != 3) {
    throw InputError("/memory/prefetch_layers", "prefetch_layers needs zero=3");
  }
  take(section, "context_bytes", memory.context_bytes);
  take(section, "reserve", memory.reserve);
  return memory;
}

}  // namespace penstock
