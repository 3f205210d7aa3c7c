#include <fmt/format.h>

#include <algorithm>

#include "schedules/partitioners/graph/graph_cut.hpp"
#include "schedules/partitioners/graph/two_level_cut.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::pipedream_optimizer_file {
namespace {

void add_note(const CutProblem& problem, Cut& cut) {
  cut.notes.emplace_back(problem.settings.published
                             ? "boundaries as the optimizer of PipeDream counts them, which is too "
                               "much where branches end inside a stage"
                             : "each tensor of a boundary counts once");
}

/// Stages of one group after another; replicas are devices of all groups of a stage.
Cut flattened(const CutProblem& problem, const IdealSpace& space, const TwoLevelCut& best) {
  std::vector<ReplicatedStage> stages;
  for (const GroupStage& group : best.stages) {
    for (ReplicatedStage stage : group.inside) {
      stage.replicas *= group.stage.replicas;
      stages.push_back(stage);
    }
  }
  return cut_of(problem, space, stages, best.value, true);
}

Cut cut_by_groups(const CutProblem& problem, std::uint32_t devices) {
  const CutSettings& settings = problem.settings;
  if (devices % settings.servers != 0) {
    throw InputError("/partition/servers", fmt::format("it is {}; it must divide the devices, {}",
                                                       settings.servers, devices));
  }
  CutProblem limited = problem;
  limited.settings.most_ideals = std::min<std::uint64_t>(settings.most_ideals, 2'000);
  const SetsToFill sets = sets_to_fill(limited);
  const auto slow = settings.server_bandwidth_bytes_per_s;
  TwoLevels levels{.inside = replica_prices(problem, problem.bandwidth_bytes_per_s),
                   .between = replica_prices(problem, slow ? slow : problem.bandwidth_bytes_per_s),
                   .devices = devices / settings.servers,
                   .groups = settings.servers,
                   .charges_twice = settings.published};
  if (settings.published) levels.between.single_stage_share = levels.devices;
  Cut cut = flattened(problem, sets.space, two_level_cut(sets.space, levels));
  cut.notes = sets.notes;
  cut.notes.push_back(
      fmt::format("servers: {}, devices of each: {}", settings.servers, levels.devices));
  return cut;
}

/// Throws InputError for groups that the cut would ignore.
void check_servers(const CutSettings& settings, bool replicas) {
  const bool groups = settings.servers > 1;
  if (!replicas && (groups || settings.server_bandwidth_bytes_per_s)) {
    throw InputError(
        groups ? "/partition/servers" : "/partition/server_bandwidth_bytes_per_s",
        "stages of one device each have no replicas to spread over servers: leave it out");
  }
  if (settings.server_bandwidth_bytes_per_s && !groups) {
    throw InputError("/partition/server_bandwidth_bytes_per_s",
                     "it needs several groups of devices: give /partition/servers, or leave it "
                     "out");
  }
}

/// Spreads devices over stages, as many as is best. A pipeline of as many stages as asked has one
/// device for each.
Cut cut(const CutProblem& problem) {
  const bool replicas = problem.devices > 0 || !problem.exactly;
  const std::uint32_t devices = problem.devices > 0 ? problem.devices
                                : replicas          ? problem.ranks
                                                    : stages_to_fill(problem);
  check_servers(problem.settings, replicas);
  Cut result = problem.settings.servers > 1 ? cut_by_groups(problem, devices)
                                            : best_graph_cut(problem, devices, replicas);
  add_note(problem, result);
  return result;
}

}  // namespace

constinit extern const PartitionerEntry pipedream_optimizer_entry{
    .name = "pipedream",
    .summary = "stages with replicas in the cost model of PipeDream, flat or by servers",
    .cut = cut,
    .settings =
        "transfers, most_ideals, published, counts_first_output, servers, "
        "server_bandwidth_bytes_per_s",
    .spreads_devices = true};

}  // namespace penstock::pipedream_optimizer_file
