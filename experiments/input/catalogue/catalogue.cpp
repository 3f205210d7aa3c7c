#include "experiments/input/catalogue/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "hardware_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array<std::string_view, 4> kinds{"device", "link", "machine", "stack"};

/// The schema of each kind of item, with the definitions that it refers to.
std::map<std::string, Schema> schemas() {
  const json whole = json::parse(catalogue_schema());
  std::map<std::string, Schema> all;
  for (const std::string_view kind : kinds) {
    json schema = whole["definitions"][kind];
    schema["definitions"] = whole["definitions"];
    all.emplace(kind, schema);
  }
  return all;
}

std::string kind_of(const json& document) {
  if (!document.is_object()) throw InputError("expected a JSON object");
  const std::string is = document.contains("is") && document["is"].is_string()
                             ? document["is"].get<std::string>()
                             : std::string();
  if (std::find(kinds.begin(), kinds.end(), is) != kinds.end()) return is;
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
  static const std::map<std::string, Schema> known = schemas();
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
    throw InputError(fmt::format(
        "{}: not a folder; PENSTOCK_HARDWARE takes folders separated by colons", folder));
  }
  return all;
}

std::vector<std::string> json_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().extension() != ".json" || !at->is_regular_file(ignored)) continue;
    files.push_back(at->path().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw InputError(fmt::format("{}: cannot read the folder: {}", folder, error.message()));
  }
  std::sort(files.begin(), files.end());
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

/// Adds the files of a folder. They replace items of the same name.
void add_folder(Catalogue& catalogue, const std::string& folder) {
  Catalogue own;
  for (const std::string& path : json_files(folder)) {
    CatalogueItem item = read_catalogue_file(path);
    const auto [first, is_new] = own.try_emplace(item.name, std::move(item));
    if (is_new) continue;
    throw in_file(path, InputError("/name", fmt::format("\"{}\" is already the name of {}; names "
                                                        "are unique within a folder",
                                                        first->first, first->second.source)));
  }
  for (auto& [name, item] : own) catalogue[name] = std::move(item);
}

/// Adds items that a machine file names from files of these names in the same folder.
void take_neighbours(const CatalogueItem& item, const std::string& path, Catalogue& catalogue) {
  const fs::path folder = fs::path(path).parent_path();
  const json facts = json::parse(item.text);
  for (const char* key : {"device", "link", "host_link", "nic_link"}) {
    if (!facts.contains(key)) continue;
    const std::string name = facts[key]["value"];
    const fs::path file = folder / (name + ".json");
    if (fs::is_regular_file(file)) catalogue[name] = read_catalogue_file(file.string());
  }
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
  try {
    const json document = parse_json(text);
    const std::string is = kind_of(document);
    check_item(document, is);
    return {source, is, document["name"], document["summary"], text};
  } catch (const InputError& error) {
    throw in_file(source, error);
  }
}

CatalogueItem read_catalogue_file(const std::string& path) {
  return parse_catalogue_file(read_file(path), path);
}

Catalogue read_catalogue() {
  static const Catalogue built_in = built_in_items();  // checked once, as they cannot change
  Catalogue catalogue = built_in;
  if (const std::string folder = user_folder(); !folder.empty()) add_folder(catalogue, folder);
  for (const std::string& folder : stated_folders()) add_folder(catalogue, folder);
  return catalogue;
}

const CatalogueItem* find_item(const Catalogue& catalogue, std::string_view is,
                               std::string_view name) {
  const auto found = catalogue.find(name);
  return found == catalogue.end() || found->second.is != is ? nullptr : &found->second;
}

std::string names_of_items(const Catalogue& catalogue, std::string_view is) {
  std::string names;
  for (const auto& named : catalogue) {
    if (named.second.is == is) names += (names.empty() ? "" : ", ") + named.first;
  }
  return names;
}

}  // namespace penstock
