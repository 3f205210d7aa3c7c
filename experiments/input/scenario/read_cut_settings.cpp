#include "experiments/input/scenario/read_cut_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

using nlohmann::json;

CutTransfers transfers_of(const std::string& word) {
  if (word == "none") return CutTransfers::none;
  return word == "overlap" ? CutTransfers::overlap : CutTransfers::serial;
}

/// Keys of the section that are no settings of its partitioner.
constexpr std::array other_keys{"description", "name", "file", "stages", "ranks", "transfers"};

bool is_other(std::string_view key) {
  return std::find(other_keys.begin(), other_keys.end(), key) != other_keys.end();
}

/// Throws InputError for a setting that the partitioner does not read.
void check_settings(const json& section, std::string_view partitioner) {
  const PartitionerEntry* entry = find_named(partitioner_entries(), partitioner);
  if (entry == nullptr) return;  // reported with the known names elsewhere
  const std::string read = fmt::format(", {},", entry->settings);
  for (const auto& [key, value] : section.items()) {
    if (is_other(key) || read.find(fmt::format(", {},", key)) != std::string::npos) continue;
    const bool reads_none = entry->settings.empty();
    throw InputError(fmt::format("/partition/{}", key),
                     fmt::format("the partitioner \"{}\" does not read it; it reads {}",
                                 entry->name, reads_none ? "no settings" : entry->settings));
  }
}

/// The schema of the settings alone.
json settings_schema() {
  const json schema = json::parse(scenario_schema());
  json section = schema["properties"]["partition"];
  for (const char* other : other_keys) {
    if (other != std::string_view("transfers")) section["properties"].erase(other);
  }
  return {{"type", "object"},
          {"definitions", schema["definitions"]},
          {"properties", {{"partition", section}}}};
}

}  // namespace

CutSettings read_cut_settings(const json& section, std::string_view partitioner) {
  check_settings(section, partitioner);
  CutSettings settings;
  if (section.contains("transfers")) settings.transfers = transfers_of(section["transfers"]);
  take(section, "balance", settings.balance);
  take(section, "speeds", settings.speeds);
  take(section, "memories_bytes", settings.memories);
  take(section, "keep_order", settings.keep_order);
  take(section, "contiguous", settings.contiguous);
  take(section, "most_ideals", settings.most_ideals);
  take(section, "evaluations", settings.evaluations);
  take(section, "seed", settings.seed);
  take(section, "published", settings.published);
  take(section, "counts_first_output", settings.counts_first_output);
  take(section, "servers", settings.servers);
  take(section, "server_bandwidth_bytes_per_s", settings.server_bandwidth_bytes_per_s);
  return settings;
}

CutSettings cut_settings_of(const std::vector<std::string>& settings,
                            std::string_view partitioner) {
  json document = {{"partition", json::object()}};
  try {
    for (const std::string& setting : settings) {
      const auto [key, value] = option_setting(setting, "partition");
      set_value(document, "/partition/" + key, value);
    }
    convert_quantities(document);
    Schema(settings_schema()).check(document);
    return read_cut_settings(document["partition"], partitioner);
  } catch (const InputError& error) {
    const std::string key = error.where().substr(error.where().rfind('/') + 1);
    throw UsageError(fmt::format("--set {}: {}", key, error.what()));
  }
}

}  // namespace penstock
