#include <algorithm>

#include "schedules/partitioners/registry.hpp"

namespace penstock::even_file {
namespace {

/// The layers that count; all of them when too few do.
std::vector<bool> counted(const CutProblem& problem) {
  std::vector<bool> counts;
  for (const CutLayer& layer : problem.layers) counts.push_back(layer.counted);
  const auto many = std::ranges::count(counts, true);
  if (static_cast<std::uint32_t>(many) < problem.stages) counts.assign(counts.size(), true);
  return counts;
}

/// Gives each stage the same number of counted layers; the first stages take the remainder. Other
/// layers join the counted one before them, leading ones the first counted one.
Cut cut(const CutProblem& problem) { return even_cut(problem, counted(problem)); }

}  // namespace

constinit extern const PartitionerEntry even_entry{
    "even", "equally many layers per stage; the first stages take the remainder", cut,
    /*settings=*/"", /*needs_costs=*/false};

}  // namespace penstock::even_file
