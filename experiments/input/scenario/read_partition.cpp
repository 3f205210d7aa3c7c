#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/model_files/placed_layers.hpp"
#include "experiments/input/scenario/number_lists.hpp"
#include "experiments/input/scenario/one_of.hpp"
#include "experiments/input/scenario/partition_section.hpp"
#include "experiments/input/scenario/read_cut_settings.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// Whether stage s is on rank s alone, the default placement of schedules.
bool one_by_one(const std::vector<std::vector<Rank>>& ranks) {
  for (std::size_t stage = 0; stage < ranks.size(); ++stage) {
    if (ranks[stage].size() != 1 || index(ranks[stage].front()) != stage) return false;
  }
  return true;
}

/// Cuts the layers of a model as stated in a file.
void use_cut(const ModelFile& cut, const ModelFile& model, PartitionSection& partition) {
  if (cut.stages.empty()) {
    throw InputError("/partition/file",
                     fmt::format("a file of the format {} has no stages", cut.format));
  }
  const bool named = !model.graph.layers.empty();
  try {
    partition.stages = named ? placed_layers(cut, model) : cut.stages;
  } catch (const InputError& error) {
    throw InputError("/partition/file", error.what());
  }
  if (partition.ranks.empty() && !one_by_one(cut.ranks)) partition.ranks = cut.ranks;
}

}  // namespace

PartitionSection read_partition(const json& section, const ModelFile& model,
                                const std::optional<ModelFile>& cut) {
  PartitionSection partition;
  take(section, "name", partition.name);
  partition.settings = read_cut_settings(section, partition.name);
  const auto has = [&](const char* key) { return section.contains(key); };
  check_one_of(section, "/partition", {"name", "stages", "file"}, true);
  partition.stated = has("name") || has("stages") || has("file");
  if (has("stages")) partition.stages = number_lists<LayerIndex>(section["stages"]);
  if (has("ranks")) partition.ranks = number_lists<Rank>(section["ranks"]);
  if (cut) {
    use_cut(*cut, model, partition);
  } else if (!partition.stated) {
    partition.stages = model.stages;
    if (partition.ranks.empty()) partition.ranks = model.ranks;
  }
  return partition;
}

}  // namespace penstock
