#include <algorithm>

#include "schedules/partitioners/registry.hpp"

// Megatron-LM cuts so with --account-for-embedding-in-pipeline-split and
// --account-for-loss-in-pipeline-split, and torchtitan by default.

namespace penstock::even_with_ends_file {
namespace {

double longest(const std::vector<CutStage>& stages) {
  double most = 0;
  for (const CutStage& stage : stages) most = std::max(most, stage.compute_s);
  return most;
}

/// Gives each stage the same number of layers; the first stages take the remainder.
Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const std::uint32_t each = problem.size() / stages;
  std::vector<std::uint32_t> cuts;
  for (std::uint32_t stage = 0; stage <= stages; ++stage) {
    cuts.push_back(stage * each + std::min(stage, problem.size() % stages));
  }
  Cut result = cut_at(problem, chain_of(problem), std::move(cuts), 0);
  result.value = longest(result.stages);
  return result;
}

}  // namespace

constinit extern const PartitionerEntry even_with_ends_entry{
    "even_with_ends", "as even, where embedding and head count as layers", cut,
    /*settings=*/"", /*needs_costs=*/false};

}  // namespace penstock::even_with_ends_file
