#include "experiments/program/commands/line/suggestions.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/input/formats/transformers/hf_architectures.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/input/scenario/model_section.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/planner/space/restrictions.hpp"
#include "hardware_models/codecs/registry.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/partitioners/registry.hpp"
#include "schedules/policies/registry.hpp"
#include "schedules/registry.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// Machines of the catalogue, and cost models.
std::vector<std::string> suggested_hardware(std::string_view typed) {
  std::vector<std::string> names = words_of(cost_model_entries());
  const std::vector<std::string> machines = suggested_machines(typed);
  names.insert(names.end(), machines.begin(), machines.end());
  return names;
}

std::vector<std::string> policies(std::string_view) { return words_of(policy_entries()); }
std::vector<std::string> devices(std::string_view) {
  return split_names(names_of_items(read_catalogue(), "device"));
}
std::vector<std::string> codecs(std::string_view) {
  std::vector<std::string> names = words_of(codec_entries());
  names.insert(names.end(), {"none", "auto"});
  return names;
}

using Suggested = std::vector<std::string> (*)(std::string_view typed);

/// Keys whose values are names of things that are registered.
const std::map<std::string, Suggested, std::less<>>& values_by_pointer() {
  static const std::map<std::string, Suggested, std::less<>> values{
      {"/schedule/name", suggested_schedules},
      {"/schedule/policy", policies},
      {"/hardware/name", suggested_hardware},
      {"/hardware/device", devices},
      {"/partition/name", suggested_partitioners},
      {"/codec/stash", codecs},
      {"/codec/link", codecs},
      {"/model/arch", suggested_architectures}};
  return values;
}

/// The schema that a "$ref" stands for, or the schema itself.
const json& resolved(const json& schema, const json& root) {
  const auto reference = schema.find("$ref");
  if (reference == schema.end()) return schema;
  return root.at(json::json_pointer(reference->get<std::string>().substr(1)));
}

/// Adds the pointer of every key below a schema, with its schema. Lists have no keys.
void add_keys(const json& schema, const json& root, const std::string& pointer,
              std::map<std::string, json>& keys) {
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return;
  for (const auto& [key, value] : properties->items()) {
    const json& of_key = resolved(value, root);
    const std::string place = pointer + "/" + key;
    keys[place] = of_key;
    add_keys(of_key, root, place, keys);
  }
}

std::map<std::string, json> scenario_keys() {
  const json& schema = scenario_schema();
  std::map<std::string, json> keys;
  add_keys(schema, schema, "", keys);
  for (const ScheduleEntry* entry : schedule_entries()) {
    for (const ScheduleOption& option : entry->options) {
      json& key =
          keys.try_emplace(fmt::format("/schedule/{}", option.name), json::object()).first->second;
      if (!option.words.empty()) key["enum"] = option.words;
    }
  }
  return keys;
}

std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// What a key can be set to, where that is known.
std::vector<std::string> values_of(const std::string& pointer, const json& schema) {
  const auto named = values_by_pointer().find(pointer);
  if (named != values_by_pointer().end()) return named->second("");
  std::vector<std::string> values;
  for (const json& value : schema.value("enum", json::array())) values.push_back(value_text(value));
  if (schema.value("type", json()) == "boolean") values = {"false", "true"};
  return values;
}

/// Values behind what is typed of their list: "/schedule/name=gpipe,".
std::vector<std::string> listed_behind(std::string_view typed, std::vector<std::string> values) {
  const std::string_view front = typed.substr(0, typed.find_last_of("=,") + 1);
  for (std::string& value : values) value.insert(0, front);
  return values;
}

}  // namespace

std::vector<std::string> suggested_schedules(std::string_view) {
  return words_of(schedule_entries());
}

std::vector<std::string> suggested_schedule_lists(std::string_view typed) {
  const std::size_t comma = typed.rfind(',');
  const std::string front(comma == std::string_view::npos ? "" : typed.substr(0, comma + 1));
  std::vector<std::string> lists = words_of(schedule_entries());
  for (std::string& list : lists) list.insert(0, front);
  return lists;
}

std::vector<std::string> suggested_schedules_or_all(std::string_view typed) {
  std::vector<std::string> lists = suggested_schedule_lists(typed);
  if (typed.find(',') == std::string_view::npos) lists.emplace_back("all");
  return lists;
}

std::vector<std::string> dtype_words() {
  return find_field(model_fields(), "dtype")->takes.schema().at("enum");
}

std::vector<std::string> suggested_machines(std::string_view) {
  std::vector<std::string> names;
  for (const auto& [name, item] : read_catalogue()) {
    if (item.is == "machine" || item.is == "device") names.push_back(name);
  }
  return names;
}

std::vector<std::string> suggested_model_formats(std::string_view) {
  std::vector<std::string> names;
  for (const FormatEntry* entry : format_entries()) {
    if (entry->read_model != nullptr) names.emplace_back(entry->name);
  }
  return names;
}

std::vector<std::string> suggested_architectures(std::string_view) {
  std::vector<std::string> names;
  for (const HfArchitecture& architecture : hf_architectures()) {
    names.emplace_back(architecture.name);
  }
  return names;
}

std::vector<std::string> suggested_settings(std::string_view typed) {
  std::vector<std::string> settings;
  const std::size_t equals = typed.find('=');
  if (equals == std::string_view::npos) {
    for (const auto& [pointer, schema] : scenario_keys()) settings.push_back(pointer + "=");
    return settings;
  }
  settings = suggested_values(typed.substr(0, equals));
  for (std::string& value : settings) value.insert(0, typed.substr(0, equals + 1));
  return settings;
}

std::vector<std::string> suggested_axes(std::string_view typed) {
  const std::size_t equals = typed.find('=');
  if (equals == std::string_view::npos) return suggested_settings(typed);
  return listed_behind(typed, suggested_values(typed.substr(0, equals)));
}

std::vector<std::string> suggested_changes(std::string_view typed) {
  const auto chosen = layout_choices();
  std::vector<std::string> changes = suggested_axes(typed);
  std::erase_if(changes, [&](const std::string& change) {
    return chosen.contains(change.substr(0, change.find('=')));
  });
  return changes;
}

std::vector<std::string> suggested_layout_values(std::string_view typed) {
  const auto choices = layout_choices();
  const std::size_t equals = typed.find('=');
  if (equals != std::string_view::npos) {
    const auto chosen = choices.find(typed.substr(0, equals));
    if (chosen == choices.end()) return {};
    return listed_behind(typed, chosen->second);
  }
  std::vector<std::string> pointers;
  for (const auto& [pointer, names] : choices) pointers.push_back(pointer + "=");
  return pointers;
}

std::vector<std::string> suggested_torch(std::string_view) {
  std::vector<std::string> releases;
  for (const TorchVersion version : torch_versions) releases.emplace_back(name(version));
  return releases;
}

std::vector<std::string> suggested_options(std::string_view typed) {
  std::set<std::string> settings;
  for (const ScheduleEntry* entry : schedule_entries()) {
    for (const ScheduleOption& option : entry->options) {
      const std::string key = fmt::format("{}=", option.name);
      if (!typed.starts_with(key)) {
        settings.insert(key);
        continue;
      }
      for (const std::string_view word : option.words) settings.insert(key + std::string(word));
    }
  }
  return {settings.begin(), settings.end()};
}

std::vector<std::string> suggested_values(std::string_view pointer) {
  const std::map<std::string, json> keys = scenario_keys();
  const auto key = keys.find(std::string(pointer));
  return key == keys.end() ? std::vector<std::string>{} : values_of(key->first, key->second);
}

std::vector<std::string> suggested_partitioners(std::string_view) {
  return words_of(partitioner_entries());
}

}  // namespace penstock
