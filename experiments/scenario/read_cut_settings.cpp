#include "experiments/scenario/read_cut_settings.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/files/json_input.hpp"
#include "experiments/files/quantity.hpp"
#include "experiments/scenario/scenario.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

CutTransfers transfers_of(const std::string& word) {
  if (word == "none") return CutTransfers::none;
  return word == "overlap" ? CutTransfers::overlap : CutTransfers::serial;
}

/// The schema of the section alone.
json section_schema() {
  const json schema = json::parse(scenario_schema());
  return {{"type", "object"},
          {"definitions", schema["definitions"]},
          {"properties", {{"partition", schema["properties"]["partition"]}}}};
}

}  // namespace

CutSettings read_cut_settings(const json& section) {
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

CutSettings cut_settings_of(const std::vector<std::string>& settings) {
  json document = {{"partition", json::object()}};
  std::vector<std::string> pointers;
  for (const std::string& setting : settings) {
    pointers.push_back(setting.starts_with('/') ? setting : "/partition/" + setting);
  }
  apply_settings(document, pointers);
  try {
    convert_quantities(document);
    Schema(section_schema()).check(document);
  } catch (const InputError& error) {
    throw UsageError(fmt::format("--set {}: {}", error.where(), error.what()));
  }
  return read_cut_settings(document["partition"]);
}

}  // namespace penstock
