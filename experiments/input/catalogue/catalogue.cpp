#include "experiments/input/catalogue/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/named_files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string kind_of(const json& document) {
  if (!document.is_object()) throw InputError("expected a JSON object");
  const std::string is = document.contains("is") && document["is"].is_string()
                             ? document["is"].get<std::string>()
                             : std::string();
  if (catalogue_kinds().contains(is)) return is;
  throw InputError("/is", "expected which it is: \"device\", \"link\", \"machine\" or \"stack\"");
}

/// Checks that the sizes of an efficiency table ascend without duplicates.
void check_table(const json& document, const char* key) {
  if (!document.contains(key)) return;
  const json& table = document[key]["value"];
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i]["size"] > table[i - 1]["size"]) continue;
    throw InputError(
        fmt::format("/{}/value/{}/size", key, i),
        fmt::format("{} is not above the size before it; sizes ascend", table[i]["size"].dump()));
  }
}

void check_item(const json& document, const std::string& is) {
  static const std::map<std::string, Schema> known = [] {
    std::map<std::string, Schema> schemas;
    for (const auto& [kind, takes] : catalogue_kinds()) schemas.emplace(kind, json(takes.schema()));
    return schemas;
  }();
  known.at(is).check(document);
  check_table(document, "matrix_efficiency");
  check_table(document, "fp8_efficiency");
  check_table(document, "memory_efficiency");
  if (is == "stack" && !document["others"].contains("spread")) {
    throw InputError(
        "/others/spread",
        "\"spread\" is missing: how far published step times lie around predicted ones");
  }
  const std::string name = document["name"];
  if (find_named(cost_model_entries(), name) == nullptr) return;
  throw InputError("/name",
                   fmt::format("\"{}\" is the name of a cost model; choose another", name));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The user's folder, which need not exist; empty without a home.
std::string user_folder() {
  constexpr const char* hardware = "/penstock/hardware";
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) return data + hardware;
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.local/share" + hardware;
}

/// The folders of $PENSTOCK_HARDWARE, which must exist.
std::vector<std::string> stated_folders() {
  std::vector<std::string> all;
  const std::string value = variable("PENSTOCK_HARDWARE");
  for (std::string_view rest = value; !rest.empty();) {
    const std::string_view folder = take_until(rest, ':');
    if (!folder.empty()) all.emplace_back(folder);
  }
  for (const std::string& folder : all) {
    std::error_code ignored;
    if (fs::is_directory(folder, ignored)) continue;
    throw InputError(folder, "",
                     "not a folder; PENSTOCK_HARDWARE takes folders separated by colons");
  }
  return all;
}

/// `error`: why the folder cannot be read.
std::vector<std::string> json_files(const std::string& folder, std::error_code& error) {
  std::vector<std::string> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().extension() != ".json" || !at->is_regular_file(ignored)) continue;
    files.push_back(at->path().string());
  }
  std::ranges::sort(files);
  return files;
}

Catalogue built_in_items() {
  Catalogue items;
  for (const BuiltInFile& file : built_in_catalogue()) {
    CatalogueItem item = parse_catalogue_file(std::string(file.text), std::string(file.name));
    item.built_in = true;
    items[item.name] = std::move(item);
  }
  return items;
}

CatalogueItem read_catalogue_file(const std::string& path) {
  return parse_catalogue_file(read_configuration(path), path);
}

/// Adds files of a folder. They replace items of the same name.
void add_files(Catalogue& catalogue, const std::vector<std::string>& paths) {
  Catalogue own;
  for (const std::string& path : paths) {
    CatalogueItem item = read_catalogue_file(path);
    const auto [first, is_new] = own.try_emplace(item.name, std::move(item));
    if (is_new) continue;
    throw in_file(path, InputError("/name", fmt::format("\"{}\" is already the name of {}; names "
                                                        "are unique within a folder",
                                                        first->first, first->second.source)));
  }
  for (auto& [name, item] : own) catalogue[name] = std::move(item);
}

/// The user's folder may be missing; one that cannot be looked at, such as that of another user's
/// home in a container, is left out with a warning.
void add_user_folder(Catalogue& catalogue) {
  const std::string folder = user_folder();
  if (folder.empty()) return;
  std::error_code error;
  const std::vector<std::string> paths = json_files(folder, error);
  if (!error) return add_files(catalogue, paths);
  if (error == std::errc::no_such_file_or_directory) return;
  static std::once_flag warned;
  std::call_once(warned, [&] {
    say(fmt::format("warning: {}: cannot read the folder: {}; your own hardware is left out",
                    folder, error.message()));
  });
}

void add_stated_folder(Catalogue& catalogue, const std::string& folder) {
  std::error_code error;
  add_files(catalogue, json_files(folder, error));
  if (!error) return;
  throw InputError(folder, "", "cannot read the folder: " + error.message());
}

/// Adds items that a machine file names from files of these names in the same folder.
void take_neighbours(const CatalogueItem& item, const std::string& path, Catalogue& catalogue) {
  const fs::path folder = fs::path(path).parent_path();
  const json facts = json::parse(item.text);
  for (const char* key : {"device", "link", "host_link", "nic_link"}) {
    if (!facts.contains(key)) continue;
    const std::string name = facts[key]["value"];
    const fs::path file = folder / (name + ".json");
    if (!fs::is_regular_file(file)) continue;
    check_confined(file.string());
    catalogue[name] = read_catalogue_file(file.string());
  }
}

std::string gigabytes(double bytes) { return fmt::format("{:.4g} GB", bytes * 1e-9); }

std::string numbers_of(const Device& device) {
  const std::string peaks = joined(device.peak_flops, [](const auto& peak) {
    return fmt::format("{} {:.5g}", peak.first, peak.second * 1e-12);
  });
  return fmt::format("{} TFLOP/s dense; {} at {}/s", peaks, gigabytes(device.memory_bytes),
                     gigabytes(device.memory_bandwidth_bytes_per_s));
}

std::string numbers_of(const LinkFacts& link) {
  std::string text = gigabytes(link.bandwidth_bytes_per_s()) + "/s each way";
  if (link.links > 1) text += fmt::format(" over {} links", link.links);
  return text + fmt::format(", {:.4g} µs", link.one.latency_us);
}

std::string numbers_of(const Machine& machine) {
  std::string text =
      fmt::format("{} x {}, {}", machine.devices, machine.device.name, machine.topology->kind);
  if (const auto inside = speed_inside(machine)) {
    text += fmt::format("; a device has {}/s inside", gigabytes(inside->bandwidth_bytes_per_s));
  }
  if (const auto outside = speed_outside(machine)) {
    text += fmt::format(", {}/s outside", gigabytes(outside->bandwidth_bytes_per_s));
  }
  return text;
}

/// The devices that a stack was fitted on.
std::string stack_text(const CatalogueItem& item) {
  const ordered_json facts = ordered_json::parse(item.text);
  return "constants of its own on " +
         joined(facts["devices"].items(), [](const auto& device) { return device.key(); });
}

std::string numbers_of(const Catalogue& catalogue, const CatalogueItem& item) {
  if (item.is == "link") return numbers_of(link_of(item));
  if (item.is == "stack") return stack_text(item);
  const Machine machine = machine_of(catalogue, item);
  return item.is == "device" ? numbers_of(machine.device) : numbers_of(machine);
}

ordered_json facts_of(const CatalogueItem& item) {
  ordered_json facts = ordered_json::parse(item.text);
  for (const char* key : {"penstock", "is", "name", "summary"}) facts.erase(key);
  return facts;
}

Machine with_topology(Machine machine) {
  set_topology(machine);
  return machine;
}

Machine machine_of_file(Catalogue catalogue, const std::string& path) {
  const std::string name = add_catalogue_file(path, catalogue);
  const CatalogueItem& item = catalogue[name];
  if (item.is == "machine") return with_topology(machine_of(catalogue, item));
  throw InputError(path, "",
                   fmt::format("\"{}\" is a {} alone; --hardware needs a machine, which joins "
                               "devices by links",
                               name, item.is));
}

void note(const json& fact, std::string_view name, Provenance& provenance) {
  std::vector<std::string>& names = fact.contains("source")   ? provenance.measured
                                    : fact.contains("fitted") ? provenance.fitted
                                                              : provenance.assumed;
  names.emplace_back(name);
}

/// The facts of a stack for a device: its own, and those of all others where it states none.
json facts_for(const json& document, std::string_view device) {
  json facts = document["others"];
  const auto own = document["devices"].find(std::string(device));
  if (own != document["devices"].end()) facts.merge_patch(*own);
  return facts;
}

/// The text behind a fact.
std::string reason_of(const json& fact) {
  for (const char* key : {"source", "fitted", "assumption"}) {
    if (fact.contains(key)) return fact[key];
  }
  return "";
}

}  // namespace

std::string add_catalogue_file(const std::string& path, Catalogue& catalogue) {
  CatalogueItem item = read_catalogue_file(path);
  if (item.is == "machine") take_neighbours(item, path, catalogue);
  const std::string name = item.name;
  catalogue[name] = std::move(item);
  return name;
}

CatalogueItem parse_catalogue_file(const std::string& text, const std::string& source) {
  return about_file(source, [&] {
    const json document = parse_json(text);
    const std::string is = kind_of(document);
    check_item(document, is);
    return CatalogueItem{source, is, document["name"], document["summary"], text};
  });
}

Catalogue read_catalogue() {
  static const Catalogue built_in = built_in_items();  // checked once, as they cannot change
  Catalogue catalogue = built_in;
  add_user_folder(catalogue);
  for (const std::string& folder : stated_folders()) add_stated_folder(catalogue, folder);
  return catalogue;
}

const CatalogueItem* find_item(const Catalogue& catalogue, std::string_view is,
                               std::string_view name) {
  const auto found = catalogue.find(name);
  return found == catalogue.end() || found->second.is != is ? nullptr : &found->second;
}

std::string names_of_items(const Catalogue& catalogue, std::string_view is) {
  return joined(catalogue,
                [&](const auto& named) { return named.second.is == is ? named.first : ""; });
}

ordered_json catalogue_json(const Catalogue& catalogue) {
  ordered_json all = ordered_json::array();
  for (const char* is : {"machine", "device", "link", "stack"}) {
    for (const auto& [name, item] : catalogue) {
      if (item.is != is) continue;
      all.push_back({{"name", name},
                     {"summary", item.summary},
                     {"is", is},
                     {"numbers", numbers_of(catalogue, item)},
                     {"file", item.built_in ? "built in" : item.source},
                     {"facts", facts_of(item)}});
    }
  }
  return all;
}

bool is_machine_file(const Catalogue& catalogue, const std::string& value) {
  const bool is_path = value.ends_with(".json") || value.find('/') != std::string::npos;
  return is_path && !catalogue.contains(value);
}

Machine machine_of_option(const Catalogue& catalogue, const std::string& value,
                          std::string_view option) {
  if (is_machine_file(catalogue, value)) return machine_of_file(catalogue, value);
  const CatalogueItem* item = find_item(catalogue, "machine", value);
  if (item == nullptr) {
    throw UsageError(fmt::format("{}: {}, or a file that ends in .json", option,
                                 unknown_text(fmt::format("machine \"{}\"", value), value,
                                              names_of_items(catalogue, "machine"))));
  }
  return with_topology(machine_of(catalogue, *item));
}

void set_open_shares(const json& stated, StackConstants& constants) {
  if (stated.contains("attention_share") && !stated.contains("fp8_attention_share")) {
    constants.fp8_attention_share = constants.attention_share;
  }
  if (!stated.contains("matrix_share")) return;
  if (!stated.contains("fp8_share")) constants.fp8_share = constants.matrix_share;
  if (!stated.contains("fp4_share")) constants.fp4_share = constants.fp8_share;
}

Stack stack_of(const CatalogueItem& item, std::string_view device) {
  const json document = json::parse(item.text);
  json facts = facts_for(document, device);
  Stack stack;
  read_fields(stack_fields(), facts, &stack);
  set_open_shares(facts, stack.constants);
  stack.constants.name = item.name;
  stack.known_device = document["devices"].contains(std::string(device));
  for (const char* key : {"spread", "spread_narrow", "spread_experts", "spread_states"}) {
    if (facts.contains(key)) stack.spreads[key] = {facts[key]["value"], reason_of(facts[key])};
    facts.erase(key);
  }
  facts.erase("attention");  // a name: the speeds are those of the device
  // Which runs were fitted, how it overlaps and sends, and what it keeps; no price of a kernel.
  for (const char* key : {"fitted_devices", "fitted_kernel_us", "fitted_expert_tokens",
                          "overlap_gathers", "hides_rings", "deduplicates", "keeps_narrow",
                          "leaves_placeholders", "stops_recomputing"}) {
    facts.erase(key);
  }
  for (const auto& [name, fact] : facts.items()) note(fact, name, stack.provenance);
  return stack;
}

Provenance provenance_of(const CatalogueItem& device, const std::string& attention) {
  const json facts = json::parse(device.text);
  Provenance provenance;
  for (const Field& price : price_fields()) {
    if (facts.contains(price.key)) note(facts[price.key], price.key, provenance);
  }
  for (const json& speed : facts.value("attention", json::array())) {
    if (speed["kernel"] != attention) continue;
    note(speed, "attention", provenance);
    break;
  }
  return provenance;
}

}  // namespace penstock
