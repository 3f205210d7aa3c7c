#include "experiments/run/layout/degrees.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

std::uint32_t replicas_by_devices(const Scenario& scenario) {
  const ParallelSection& parallel = scenario.parallel;
  const auto& devices = scenario.hardware.devices;
  if (!devices || !parallel.pipeline) return 1;
  const std::uint64_t others =
      std::uint64_t{*parallel.pipeline} * parallel.tensor * parallel.context * parallel.expert;
  if (others == 0 || *devices % others != 0) {
    throw InputError(
        "/hardware/devices",
        fmt::format("{} cannot be divided by the {} that one copy of the pipeline takes",
                    counted(*devices, "device"), others));
  }
  return static_cast<std::uint32_t>(*devices / others);
}

/// Whether any layer of the model has experts.
bool has_experts(const ModelSpec& spec) {
  const auto has = [](const LayerSpec& part) { return part.numbers.contains("experts"); };
  return std::any_of(spec.blocks.begin(), spec.blocks.end(), [&](const BlockSpec& block) {
    return std::any_of(block.parts.begin(), block.parts.end(), has);
  });
}

/// Refuses an expert degree for a dense model, which would only waste devices.
void check_expert(const Scenario& scenario) {
  const std::uint32_t expert = scenario.parallel.expert;
  if (expert == 1 || !scenario.model.by_kind() || has_experts(scenario.model.spec)) return;
  throw InputError("/parallel/expert",
                   fmt::format("it is {}, but no layer of the model has experts; set it to 1, and "
                               "add replicas by /parallel/data",
                               expert));
}

}  // namespace

Degrees settle_degrees(const Scenario& scenario) {
  check_expert(scenario);
  const ParallelSection& parallel = scenario.parallel;
  return {.tensor = parallel.tensor,
          .data = parallel.data ? *parallel.data : replicas_by_devices(scenario),
          .context = parallel.context,
          .expert = parallel.expert,
          .sequence_parallel = parallel.sequence,
          .overlaps_sums = parallel.overlap_sums.value_or(true),
          .overlaps_gathers = parallel.overlap_gathers,
          .bucket_bytes = parallel.bucket_bytes,
          .overlaps_experts = parallel.overlap_experts,
          .scatters = parallel.scatter_gather && parallel.tensor > 1 && !parallel.sequence};
}

std::uint64_t devices_per_rank(const Degrees& degrees) {
  std::uint64_t product = 1;
  for (const std::uint32_t degree :
       {degrees.tensor, degrees.data, degrees.context, degrees.expert}) {
    product *= degree;
    if (product > (std::uint64_t{1} << 32)) {
      throw InputError("/parallel", "the degrees multiply to more than 2^32 devices a rank");
    }
  }
  return product;
}

}  // namespace penstock
