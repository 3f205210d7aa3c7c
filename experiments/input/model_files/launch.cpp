#include "experiments/input/model_files/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace penstock {

std::string left_out_line(const std::vector<std::string>& left_out) {
  if (left_out.empty()) return "";
  return fmt::format("# No argument says: {}\n", fmt::join(left_out, "; "));
}

std::string torchrun_text(const TrainingLaunch& launch) {
  const std::uint32_t devices = launch.command.devices.value_or(1);
  const std::uint32_t of_host = std::gcd(devices, launch.host_devices);
  return fmt::format("torchrun --nnodes {} --nproc-per-node {}", devices / of_host, of_host);
}

StageCounts stage_counts(const TrainingLaunch& launch) {
  StageCounts counts;
  for (const std::vector<LayerIndex>& stage : launch.stages) {
    counts.all.push_back(static_cast<std::uint32_t>(stage.size()));
    const auto even = std::ranges::count_if(
        stage, [&](LayerIndex layer) { return launch.model.blocks[index(layer)].cut_evenly; });
    counts.even.push_back(static_cast<std::uint32_t>(even));
  }
  return counts;
}

bool are_equal(const std::vector<std::uint32_t>& counts) {
  return std::ranges::adjacent_find(counts, std::not_equal_to<>()) == counts.end();
}

}  // namespace penstock
