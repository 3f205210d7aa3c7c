#include "experiments/layout/cut.hpp"

#include <fmt/format.h>

#include "experiments/layout/pipeline_ranks.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

void check_stages(const Scenario& scenario, const Placement& placement, std::size_t stages) {
  if (const auto given = stages_given(scenario); given && *given != stages) {
    throw InputError(scenario.partition.stated     ? "/partition/stages"
                     : scenario.model.stages_given ? "/model/stages"
                                                   : "/model/file",
                     fmt::format("there are {} stages, but the schedule has {} model stages on {} "
                                 "ranks",
                                 *given, stages, placement.ranks()));
  }
}

Partition cut_into(const Scenario& scenario, const ModelGraph& model, std::uint32_t stages) {
  Partition partition;
  if (!scenario.partition.stages.empty()) {
    partition.stages = scenario.partition.stages;
    check_partition(model, partition);
    return partition;
  }
  if (scenario.model.stages_given) {
    for (LayerIndex layer : Numbers<LayerIndex>(stages)) partition.stages.push_back({layer});
    return partition;
  }
  const PartitionerEntry* entry = find_named(partitioner_entries(), scenario.partition.name);
  return entry->cut(model, stages);
}

}  // namespace

Partition cut_model(const Scenario& scenario, const ModelGraph& model, const Placement& placement) {
  const auto stages = static_cast<std::uint32_t>(placement.chains().front().size());
  check_stages(scenario, placement, stages);
  Partition partition = cut_into(scenario, model, stages);
  partition.ranks = scenario.partition.ranks;
  return partition;
}

}  // namespace penstock
