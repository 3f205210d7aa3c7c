#include "schedules/partitioners/graph/graph_cut.hpp"
#include "schedules/partitioners/registry.hpp"

namespace penstock::ideals_file {
namespace {

/// With devices, stages get replicas and there are as many stages as is best; without, one device
/// per stage.
Cut cut(const CutProblem& problem) {
  const bool replicas = problem.devices > 0;
  return best_graph_cut(problem, replicas ? problem.devices : stages_to_fill(problem), replicas);
}

}  // namespace

constinit extern const PartitionerEntry ideals_entry{
    .name = "ideals",
    .summary = "stages of a graph, not only of a chain, exact over all down-closed sets",
    .cut = cut,
    .settings = "transfers, most_ideals, published, counts_first_output",
    .spreads_devices = true};

}  // namespace penstock::ideals_file
