#include "experiments/input/scenario/partition_section.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

using nlohmann::json;
using P = PartitionSection;
using C = CutSettings;

/// A setting of partitioners.
template <auto member>
Field setting(std::string_view key, const Takes& takes, std::string_view about) {
  return field<&P::settings, member>(key, takes, about);
}

const Fields& setting_fields() {
  static const Fields fields{
      "how layers are cut into stages: by name, given, or by a file",
      {setting<&C::transfers>("transfers", words({"none", "overlap", "serial"}),
                              "how a partitioner counts transfers: not at all, beside the stages, "
                              "or in sequence; default overlap"),
       setting<&C::balance>("balance", number(1, 1'000'000),
                            "least_traffic: longest stage over the shortest possible one"),
       setting<&C::speeds>("speeds", list_of(number(1e-6, 1e6), 0, 16'384),
                           "devices: relative speed of each rank"),
       setting<&C::memories>("memories_bytes", list_of(number(0, 1e18), 0, 16'384),
                             "devices: capacity of each rank"),
       setting<&C::keep_order>("keep_order", truth(), "devices: ranks stay in the given order"),
       setting<&C::contiguous>("contiguous", truth(),
                               "interleaved: chunk c of rank r is stage c * ranks + r"),
       setting<&C::most_ideals>("most_ideals", whole(1, 1'000'000),
                                "ideals, pipedream: down-closed sets to enumerate"),
       setting<&C::evaluations>("evaluations", whole(0, 1'000'000'000),
                                "simulated, interleaved: steps of local search"),
       setting<&C::seed>("seed", whole(0, 9'007'199'254'740'991), "of local search"),
       setting<&C::published>("published", truth(),
                              "pipedream: the cost model of its optimizer as published"),
       setting<&C::counts_first_output>("counts_first_output", truth(),
                                        "pipedream, ideals: overlapped transfers of the first "
                                        "stage include its output, as serial ones always do"),
       setting<&C::servers>("servers", whole(1, 16'384), "pipedream: groups of devices"),
       setting<&C::server_bandwidth_bytes_per_s>(
           "server_bandwidth_bytes_per_s", positive_number(1e18), "pipedream: between groups")}};
  return fields;
}

/// Throws InputError for a setting that the partitioner does not read.
void check_settings(const json& section, const std::string& partitioner) {
  const PartitionerEntry* entry = find_named(partitioner_entries(), partitioner);
  if (entry == nullptr) return;  // reported with the known names elsewhere
  for (const Field& field : setting_fields().fields) {
    if (!section.contains(field.key) || is_listed(entry->settings, field.key)) continue;
    const bool reads_none = entry->settings.empty();
    throw InputError(fmt::format("/partition/{}", field.key),
                     fmt::format("the partitioner \"{}\" does not read it; it reads {}",
                                 entry->name, reads_none ? "no settings" : entry->settings));
  }
}

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

const Fields& partition_fields() {
  static const std::vector<Field> own{
      note(),
      field<&P::name>("name", text(), "a partitioner"),
      {"file", full_text(),
       "a file with stages: PipeDream's conf, a placement of dnn-partitioning, …"},
      field<&P::stages>("stages", list_of(list_of(whole(0, 999'999)), 1, 65'536),
                        "the layers of each stage"),
      field<&P::ranks>("ranks", list_of(list_of(whole(0, 16'383), 1), 1, 65'536),
                       "the ranks of each stage; several are replicas, which take microbatches in "
                       "turn")};
  static const Fields fields = with(setting_fields(), {&own});
  return fields;
}

CutSettings cut_settings_of(const std::vector<std::string>& settings,
                            const std::string& partitioner) {
  static const Schema schema(schema_of({"", {{"partition", object_of(setting_fields())}}}));
  json document = {{"partition", json::object()}};
  PartitionSection partition;
  try {
    for (const std::string& setting : settings) {
      const auto [key, value] = option_setting(setting, "partition");
      set_value(document, "/partition/" + key, value);
    }
    take_quantities(document, schema);
    check_settings(document["partition"], partitioner);
  } catch (const InputError& error) {
    const std::string key = error.where().substr(error.where().rfind('/') + 1);
    throw UsageError(fmt::format("--set {}: {}", key, error.what()));
  }
  read_fields(setting_fields(), document["partition"], &partition);
  return partition.settings;
}

PartitionSection read_partition(const json& section, const ModelFile& model,
                                const std::optional<ModelFile>& cut) {
  PartitionSection partition;
  read_fields(partition_fields(), section, &partition);
  check_settings(section, partition.name);
  check_one_of(section, "/partition", {"name", "stages", "file"}, true);
  partition.stated =
      section.contains("name") || section.contains("stages") || section.contains("file");
  if (cut) {
    use_cut(*cut, model, partition);
  } else if (!partition.stated) {
    partition.stages = model.stages;
    if (!model.command.partition.empty()) partition.name = model.command.partition;
    if (partition.ranks.empty()) partition.ranks = model.ranks;
  }
  return partition;
}

}  // namespace penstock
