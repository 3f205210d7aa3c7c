#include <utility>

#include "schedules/partitioners/chain/bottleneck.hpp"
#include "schedules/partitioners/registry.hpp"

namespace penstock::balanced_file {
namespace {

/// The cuts of least bottleneck. Layers fill the stages, so there always are some.
ChainCuts least(const CutProblem& problem, const CutChain& chain, std::uint32_t stages) {
  if (problem.transfers == CutTransfers::none || !problem.bandwidth_bytes_per_s) {
    return (problem.exactly ? balanced_cuts : least_bottleneck)(chain.compute_s, stages);
  }
  const bool beside = problem.transfers == CutTransfers::overlap;
  return *(beside ? least_bottleneck_beside : least_bottleneck_in_sequence)(
      chain.compute_s, chain.boundary_s, stages, problem.exactly);
}

Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const CutChain chain = chain_of(problem);
  ChainCuts best = least(problem, chain, stages);
  return cut_at(problem, chain, std::move(best.cuts), best.value);
}

}  // namespace

constinit extern const PartitionerEntry balanced_entry{
    "balanced", "the shortest longest stage of a chain, exact; with or without transfers", cut,
    "transfers"};

}  // namespace penstock::balanced_file
