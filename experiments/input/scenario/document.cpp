#include "experiments/input/scenario/document.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/scenario/scenario.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Adds the schemas that a schema stands for: by reference, or one of several.
void add_meant(const json& schema, const json& root, std::vector<const json*>& meant) {
  const auto reference = schema.find("$ref");
  if (reference != schema.end()) {
    const json::json_pointer target(reference->get<std::string>().substr(1));
    return add_meant(root.at(target), root, meant);
  }
  meant.push_back(&schema);
  for (const char* several : {"oneOf", "anyOf", "allOf"}) {
    const auto choices = schema.find(several);
    if (choices == schema.end()) continue;
    for (const json& choice : *choices) add_meant(choice, root, meant);
  }
}

/// The schemas one step further down.
std::vector<const json*> schemas_below(const std::vector<const json*>& schemas,
                                       const std::string& step, const json& root) {
  std::vector<const json*> found;
  for (const json* schema : schemas) {
    const auto properties = schema->find("properties");
    if (properties != schema->end() && properties->contains(step)) {
      add_meant(properties->at(step), root, found);
    }
    const auto items = schema->find("items");
    if (items != schema->end() && items->is_object()) add_meant(*items, root, found);
  }
  return found;
}

bool same_folder(const std::string& one, const std::string& other) {
  std::error_code none;
  return fs::equivalent(fs::path(one) / ".", fs::path(other) / ".", none);
}

/// The paths that a scenario names, for a scenario in another folder.
template <class Json>
void move_paths(Json& document, const std::string& from, const std::string& to) {
  if (same_folder(from, to)) return;
  for (const char* pointer : file_pointers) {
    const typename Json::json_pointer place(pointer);
    if (!document.contains(place)) continue;
    auto& value = document[place];
    if (!value.is_string()) continue;
    const auto path = value.template get<std::string>();
    if (!fs::path(path).is_absolute()) value = path_seen_from(to, (fs::path(from) / path).string());
  }
}

/// The names or pointers into results that a scenario expects: values, or one with a tolerance.
Takes expectations() {
  using Json = nlohmann::ordered_json;
  const Fields tolerant{
      "",
      {{"value", Json::object(), "expected value"}, {"within", number(0), "relative tolerance"}},
      {"value"}};
  const auto has = [](const char* key) { return Json{{"type", "object"}, {"required", {key}}}; };
  return Json{{"type", "object"},
              {"additionalProperties",
               {{"if", {{"anyOf", {has("value"), has("within")}}}},
                {"then", object_of(tolerant).schema()},
                {"else", Json::object()}}}};
}

Fields scenario_fields() {
  Fields fields{
      "",
      {{"penstock", nlohmann::ordered_json{{"enum", {1}}}, "version of this format"}, note()},
      {"model"}};
  for (const auto& [name, section] : scenario_sections()) {
    fields.fields.push_back({name, object_of(*section)});
  }
  fields.fields.push_back({"expect", expectations(),
                           "expected results: names or pointers into the document of run --json"});
  return fields;
}

}  // namespace

std::string path_seen_from(const std::string& folder, const std::string& path) {
  if (folder.empty() || fs::path(path).is_absolute()) return path;
  // Of a folder that is not there yet, only an absolute path is followed.
  const fs::path there = fs::weakly_canonical(fs::absolute(folder));
  if (there == fs::current_path()) return path;
  const fs::path absolute = fs::absolute(path);
  const fs::path real = fs::weakly_canonical(absolute.parent_path()) / absolute.filename();
  return real.lexically_relative(there).string();
}

std::string document_text(const Scenario& scenario) { return printed(*scenario.document); }

void set_order(json& document, const json& order) {
  json& section = document.emplace("schedule", json::object()).first.value();
  for (const std::string& option : other_keys(schedule_fields(), section)) section.erase(option);
  for (const char* key : {"name", "policy", "file", "chains"}) section.erase(key);
  if (order.contains("file")) {  // which has its number of microbatches, and ranks for its stages
    section.erase("microbatches");
    if (document.contains("partition")) document["partition"].erase("ranks");
  }
  section.update(order);
}

json moved_document(const Scenario& scenario, const std::string& folder) {
  json document = *scenario.document;
  document.erase("expect");
  move_paths(document, scenario.folder, folder);
  return document;
}

std::string moved_text(const Scenario& scenario, const std::string& folder,
                       const std::string& order_file,
                       const std::vector<std::vector<Stage>>& chains) {
  json document = moved_document(scenario, folder);
  if (!order_file.empty()) set_order(document, {{"file", order_file}, {"chains", chains}});
  return printed(document);
}

std::string moved_text(const std::string& text, const std::string& folder) {
  auto document = nlohmann::ordered_json::parse(text);
  move_paths(document, "", folder);
  return printed(document);
}

std::optional<std::string> value_at(const Scenario& scenario, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  if (!scenario.document->contains(place)) return std::nullopt;
  const nlohmann::json& value = scenario.document->at(place);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> keys_below(std::string_view pointer) {
  const json& root = scenario_schema();
  std::vector<const json*> schemas;
  add_meant(root, root, schemas);
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    schemas = schemas_below(schemas, std::string(pointer.substr(0, end)), root);
    pointer.remove_prefix(end);
  }
  std::set<std::string> keys;
  for (const json* schema : schemas) {
    const auto properties = schema->find("properties");
    if (properties == schema->end()) continue;
    for (const auto& [key, value] : properties->items()) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

const std::vector<NamedSection>& scenario_sections() {
  static const std::vector<NamedSection> sections{
      {"model", &model_fields()},         {"hardware", &hardware_fields()},
      {"partition", &partition_fields()}, {"parallel", &parallel_fields()},
      {"modules", &modules_fields()},     {"schedule", &schedule_fields()},
      {"recompute", &recompute_fields()}, {"offload", &offload_fields()},
      {"codec", &codec_fields()},         {"memory", &memory_fields()},
      {"overheads", &overheads_fields()}, {"batch", &batch_fields()},
      {"chance", &chance_fields()}};
  return sections;
}

const nlohmann::json& scenario_schema() {
  static const nlohmann::json schema = schema_of(scenario_fields(), "Penstock scenario");
  return schema;
}

std::string_view scenario_schema_text() {
  static const std::string text = printed(schema_of(scenario_fields(), "Penstock scenario"));
  return text;
}

}  // namespace penstock
