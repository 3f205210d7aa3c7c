#include <fmt/format.h>

#include <limits>
#include <utility>

#include "schedules/partitioners/chain/bottleneck.hpp"
#include "schedules/partitioners/chain/cut_tables.hpp"
#include "schedules/partitioners/registry.hpp"

namespace penstock::least_traffic_file {
namespace {

/// How far two times of one length may differ: those of stages are differences of sums, each off by
/// half a unit in the last place of the whole for every layer, and the bound is such a time too.
double rounding(const CutChain& chain) {
  return 2 * chain.size() * std::numeric_limits<double>::epsilon() * chain.compute_s.back();
}

/// The shortest possible longest stage keeps to any bound of at least 1, so there always is a cut.
Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const CutChain chain = chain_of(problem);
  const double shortest = least_bottleneck(chain.compute_s, stages).value;
  const double longest = shortest * problem.settings.balance + rounding(chain);
  auto best =
      least_boundaries(chain.compute_s, chain.boundary_bytes, longest, stages, problem.exactly);
  Cut result = cut_at(problem, chain, std::move(best->cuts), best->value);
  result.value_in_bytes = true;
  result.notes.push_back(fmt::format(
      "the value is the activations of one microbatch that pass between stages; gradients go back "
      "over the same boundaries; no stage takes longer than {:.6g} times the shortest possible",
      problem.settings.balance));
  return result;
}

}  // namespace

constinit extern const PartitionerEntry least_traffic_entry{
    "least_traffic", "the fewest bytes between stages within a bound on their balance, exact", cut,
    "balance"};

}  // namespace penstock::least_traffic_file
