#include <cmath>
#include <utility>

#include "schedules/partitioners/chain/cut_tables.hpp"
#include "schedules/partitioners/registry.hpp"

namespace penstock::gpipe_variance_file {
namespace {

/// The standard deviation of stage costs.
double deviation(const std::vector<CutStage>& stages) {
  double mean = 0;
  for (const CutStage& stage : stages) mean += stage.compute_s / double(stages.size());
  double squares = 0;
  for (const CutStage& stage : stages) squares += std::pow(stage.compute_s - mean, 2);
  return std::sqrt(squares / double(stages.size()));
}

/// The mean of exactly as many stages is the same for all cuts, so the least sum of squares has the
/// least variance.
Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const CutChain chain = chain_of(problem);
  ChainCuts best = least_squares(chain.compute_s, stages);
  Cut result = cut_at(problem, chain, std::move(best.cuts), 0);
  result.value = deviation(result.stages);
  result.notes.emplace_back("the value is the standard deviation of the compute of stages");
  return result;
}

}  // namespace

constinit extern const PartitionerEntry gpipe_variance_entry{
    "gpipe", "the least variance of stage costs, as in the patent of GPipe, exact", cut};

}  // namespace penstock::gpipe_variance_file
