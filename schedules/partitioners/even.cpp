#include <fmt/format.h>

#include <algorithm>

#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The layers that count; all of them when too few do.
std::vector<bool> counted(const CutProblem& problem) {
  std::vector<bool> counts;
  for (const CutLayer& layer : problem.layers) counts.push_back(layer.counted);
  const auto many = std::count(counts.begin(), counts.end(), true);
  if (static_cast<std::uint32_t>(many) < problem.stages) counts.assign(counts.size(), true);
  return counts;
}

double longest(const std::vector<CutStage>& stages) {
  double most = 0;
  for (const CutStage& stage : stages) most = std::max(most, stage.compute_s);
  return most;
}

/// Gives each stage the same number of counted layers; the first stages take the remainder. Other
/// layers join the counted one before them, leading ones the first counted one.
Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const std::vector<bool> counts = counted(problem);
  const auto layers = static_cast<std::uint32_t>(std::count(counts.begin(), counts.end(), true));
  std::vector<std::uint32_t> cuts{0};
  std::uint32_t in_stage = 0;
  for (std::uint32_t layer = 0; layer < problem.size(); ++layer) {
    const auto stage = static_cast<std::uint32_t>(cuts.size() - 1);
    const std::uint32_t full = layers / stages + (stage < layers % stages ? 1 : 0);
    if (counts[layer] && in_stage++ == full) {
      cuts.push_back(layer);
      in_stage = 1;
    }
  }
  cuts.push_back(problem.size());
  Cut result = cut_at(problem, chain_of(problem), std::move(cuts), 0);
  result.value = longest(result.stages);
  return result;
}

}  // namespace

constinit extern const PartitionerEntry even_entry{
    "even", "equally many layers per stage; the first stages take the remainder", cut,
    /*settings=*/"", /*needs_costs=*/false};

}  // namespace penstock
