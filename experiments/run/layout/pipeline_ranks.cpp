#include "experiments/run/layout/pipeline_ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

std::uint32_t ranks_by_devices(const Scenario& scenario, const Degrees& degrees) {
  const std::uint64_t each = devices_per_rank(degrees);
  if (*scenario.hardware.devices % each != 0) {
    throw InputError("/hardware/devices",
                     fmt::format("{} cannot be divided by the {} that one pipeline rank takes",
                                 counted(*scenario.hardware.devices, "device"), each));
  }
  return static_cast<std::uint32_t>(*scenario.hardware.devices / each);
}

/// Without data replicas, the next copy of a weight is in the same group: one tensor group away, or
/// the next devices with the same experts.
std::uint64_t devices_per_replica(const Degrees& degrees) {
  if (degrees.data > 1) return degrees.group();
  if (degrees.context > 1) return degrees.tensor;
  return std::min<std::uint64_t>(degrees.tensor,
                                 std::uint64_t{degrees.expert} * degrees.expert_tensor);
}

void seat_devices(const Scenario& scenario, HardwareSpec& spec) {
  const auto& topology = scenario.hardware.stated.topology;
  if (!spec.machine || (topology && topology->parameters.contains("devices_per_node"))) return;
  std::uint64_t unit = 1;
  for (const std::uint64_t group :
       {spec.tensor, spec.tensor * spec.context, spec.expert_tensor * spec.expert}) {
    const std::uint64_t together = std::lcm(unit, group);
    if (together <= spec.machine->devices) unit = together;
  }
  seat_evenly(*spec.machine, spec.devices(), unit);
}

}  // namespace

std::optional<std::uint32_t> stages_given(const Scenario& scenario) {
  if (!scenario.partition.stages.empty()) {
    return static_cast<std::uint32_t>(scenario.partition.stages.size());
  }
  if (scenario.model.stages_given)
    return static_cast<std::uint32_t>(scenario.model.graph.layers.size());
  return std::nullopt;
}

std::uint32_t ranks_for(const Scenario& scenario, const Degrees& degrees, std::uint32_t chunks,
                        std::uint32_t copies) {
  if (scenario.parallel.pipeline) return *scenario.parallel.pipeline;
  if (scenario.hardware.devices) return ranks_by_devices(scenario, degrees);
  if (!scenario.partition.ranks.empty()) {
    std::uint32_t highest = 0;
    for (const auto& replicas : scenario.partition.ranks) {
      for (Rank rank : replicas) highest = std::max(highest, index(rank));
    }
    return highest + 1;
  }
  const auto stages = stages_given(scenario);
  if (!stages) {
    throw InputError("/parallel/pipeline",
                     "it is missing; a model given by layers needs the number "
                     "of pipeline ranks, or \"devices\" under /hardware");
  }
  const std::uint64_t all = std::uint64_t{*stages} * copies;
  if (all % chunks != 0) {
    throw InputError("/parallel/chunks", fmt::format("{} cannot be divided by {} chunks a rank",
                                                     counted(all, "stage"), chunks));
  }
  return static_cast<std::uint32_t>(all / chunks);
}

void check_devices(const Scenario& scenario, const Degrees& degrees, std::uint32_t ranks) {
  const std::uint64_t needed = ranks * devices_per_rank(degrees);
  if (!scenario.hardware.devices || *scenario.hardware.devices == needed) return;
  throw InputError(
      "/hardware/devices",
      fmt::format("it is {}, but {} times the other degrees of /parallel take {}",
                  *scenario.hardware.devices, counted(ranks, "pipeline rank"), needed));
}

std::string remedy_for_stages(const Scenario& scenario, const Degrees& degrees,
                              std::uint32_t stages, std::uint32_t per_rank, std::string_view lead) {
  if (stages % per_rank != 0) return "";
  const std::uint32_t ranks = stages / per_rank;
  std::vector<std::string> keys;
  if (scenario.parallel.pipeline) keys.push_back(fmt::format("/parallel/pipeline={}", ranks));
  if (scenario.hardware.devices) {
    keys.push_back(fmt::format("/hardware/devices={}", ranks * devices_per_rank(degrees)));
  }
  return keys.empty() ? "" : fmt::format("{}{}", lead, fmt::join(keys, " and "));
}

void check_sizes(std::uint32_t ranks, std::uint64_t chunks) {
  if (ranks > Limits::ranks) {
    throw InputError("/parallel/pipeline",
                     fmt::format("{} ranks are too many; at most {}", ranks, Limits::ranks));
  }
  if (ranks * chunks > Limits::stages) {
    throw InputError("/parallel/chunks",
                     fmt::format("{} ranks times {} chunks are too many stages; at most {}", ranks,
                                 chunks, Limits::stages));
  }
}

Placement given_placement(const Scenario& scenario, std::uint32_t ranks) {
  std::vector<Stage> chain;
  for (Stage stage : Numbers<Stage>(static_cast<std::uint32_t>(scenario.partition.ranks.size()))) {
    chain.push_back(stage);
  }
  Placement placement;
  try {
    placement = Placement::given(ranks, scenario.partition.ranks, {chain});
  } catch (const InputError& error) {
    throw InputError("/partition/ranks", error.what());
  }
  const auto& chunks = scenario.parallel.chunks;
  const std::uint32_t slots = placement.slots();
  if (!chunks || std::uint64_t{*chunks} * ranks == slots) return placement;
  if (slots % ranks == 0) {
    throw InputError("/parallel/chunks",
                     fmt::format("/partition/ranks needs {} per rank, got {}: set "
                                 "/parallel/chunks={} or leave it out",
                                 counted(slots / ranks, "chunk"), *chunks, slots / ranks));
  }
  throw InputError("/parallel/chunks",
                   fmt::format("it is {}, but /partition/ranks has {} on {}: leave it out", *chunks,
                               counted(chain.size(), "stage"), counted(ranks, "rank")));
}

void spread_ranks(const Scenario& scenario, Layout& layout) {
  HardwareSpec& spec = layout.hardware.spec;
  const Degrees& degrees = layout.degrees;
  spec.ranks = layout.placement.ranks();
  spec.devices_per_rank = degrees.group() * degrees.data;
  spec.devices_per_replica = devices_per_replica(degrees);
  if (const auto& module = layout.module) {
    spec.own_ranks = module->own_ranks();
    spec.devices_per_own_rank = module->devices_per_own_rank();
    spec.devices_per_own_replica = module->degrees.tensor;
  }
  spec.tensor = degrees.tensor;
  spec.context = degrees.context;
  spec.expert = degrees.expert;
  spec.expert_tensor = degrees.expert_tensor;
  spec.overlaps_experts = degrees.overlaps_experts;
  spec.overlaps_shared = degrees.overlaps_shared;
  spec.slows = {layout.conditions.compute_slowdown, layout.conditions.transfer_slowdown};
  spec.overlaps_tensor = degrees.overlaps_tensor;
  spec.deduplicates = degrees.deduplicates;
  seat_devices(scenario, spec);
}

}  // namespace penstock
