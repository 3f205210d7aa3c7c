#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <string_view>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

/// Converts the validator's place, "<root>", "[key]", "[0]", to a JSON pointer.
Pointer pointer_of(const std::vector<std::string>& context) {
  Pointer pointer;
  for (const std::string& step : context) {
    if (step.starts_with('[') && step.ends_with(']')) pointer /= step.substr(1, step.size() - 2);
  }
  return pointer;
}

/// The target of a "$ref", described as the reference is, or the node itself.
json resolved(const json& schema, const json& node) {
  if (!node.is_object() || !node.contains("$ref")) return node;
  const std::string reference = node["$ref"];
  json target = schema.at(Pointer(reference.substr(1)));  // "#/definitions/…"
  if (node.contains("description")) target["description"] = node["description"];
  return target;
}

bool fits(const json& value, const json& schema) {
  valijson::Schema parsed;
  valijson::adapters::NlohmannJsonAdapter adapter(schema);
  valijson::SchemaParser().populateSchema(adapter, parsed);
  valijson::Validator validator;
  return validator.validate(parsed, valijson::adapters::NlohmannJsonAdapter(value), nullptr);
}

/// The node that applies to a value: the node itself, the target of its "$ref", or the matching
/// branch of its "if".
json speaking_of(const json& schema, const json& node, const json& value) {
  if (!node.is_object() || !node.contains("if")) return resolved(schema, node);
  return resolved(schema, node[fits(value, node["if"]) ? "then" : "else"]);
}

/// The node for a key or an index of a value that `node` describes; null if it says nothing.
json child_of(const json& node, const std::string& step) {
  if (node.contains("properties") && node["properties"].contains(step)) {
    return node["properties"][step];
  }
  const json patterns = node.value("patternProperties", json::object());
  for (const auto& [pattern, child] : patterns.items()) {
    if (std::regex_search(step, std::regex(pattern))) return child;
  }
  if (node.contains("items")) return node["items"];
  return node.value("additionalProperties", json());
}

/// The part of the schema that applies to a place of the document.
json schema_at(const json& schema, const json& document, const Pointer& place) {
  std::vector<std::string> steps;
  for (Pointer rest = place; !rest.empty(); rest.pop_back()) steps.push_back(rest.back());
  json node = schema;
  Pointer here;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const json child = child_of(node, *step);
    if (!child.is_object()) return json::object();
    here /= *step;
    node = speaking_of(schema, child, document.at(here));
  }
  return node;
}

std::string keys_of(const json& object) {
  return joined(object.items(), [](const auto& item) { return item.key(); });
}

/// A bound of a schema: 1e+12 instead of 1000000000000.0.
std::string bound_text(const json& bound) {
  return bound.is_number_float() ? fmt::format("{:g}", bound.get<double>()) : bound.dump();
}

/// "a number", "a text or an object".
std::string type_text(const json& type) {
  static const std::map<std::string, std::string> names{
      {"number", "a number"},  {"integer", "a whole number"},
      {"string", "a text"},    {"boolean", "true or false"},
      {"object", "an object"}, {"array", "a list"},
      {"null", "null"}};
  const auto name = [&](const json& one) {
    const auto known = names.find(one);
    return known == names.end() ? one.get<std::string>() : known->second;
  };
  return joined(type.is_array() ? type : json::array({type}), name, " or ");
}

/// " from 1 to 64", " of at least 1 item".
std::string range_text(const json& node, const char* least, const char* most, const char* from,
                       const char* unit) {
  const bool below = node.contains(least), above = node.contains(most);
  if (below && above) {
    return fmt::format(" {} {} to {}{}", from, bound_text(node[least]), bound_text(node[most]),
                       unit);
  }
  if (below) {
    const bool one = *unit != 0 && node[least] == 1;
    return fmt::format(" of at least {}{}", bound_text(node[least]), one ? " item" : unit);
  }
  return above ? fmt::format(" of at most {}{}", bound_text(node[most]), unit) : "";
}

/// The expected value: "a number from 0 to 1e+12, or one with a unit, such as "2ms"".
std::string wanted(const json& node) {
  if (node.contains("enum")) {
    const json& values = node["enum"];
    return (values.size() == 1 ? "" : "one of ") +
           joined(values, [](const json& value) { return value.dump(); });
  }
  const bool has_units = node.contains("pattern") && node.contains("examples");
  std::string text = has_units               ? "a number"
                     : node.contains("type") ? type_text(node["type"])
                                             : "valid";
  text += range_text(node, "minimum", "maximum", "from", "");
  text += range_text(node, "minItems", "maxItems", "of", " items");
  if (node.contains("minLength")) text += " of at least 1 character";
  if (node.contains("minProperties")) text += " of at least 1 key";
  if (has_units)
    text += fmt::format(", or one with a unit, such as {}", node["examples"][0].dump());
  return text;
}

/// A value in an error text, shortened if it is long.
std::string shown(const json& value) {
  constexpr std::size_t longest = 40;
  return shortened(value.dump(-1, ' ', false, json::error_handler_t::replace), longest);
}

/// What a single value given for a section, such as "full" for "recompute", was meant for: the key
/// that takes it.
std::string meant_text(const Pointer& place, const json& value, const json& node) {
  if (!value.is_string() || !node.contains("properties")) return "";
  const json& properties = node["properties"];
  std::string key;
  for (const char* usual : {"file", "name"}) {
    if (properties.contains(usual)) key = usual;
  }
  for (const auto& [name, property] : properties.items()) {
    const json known = property.value("enum", json::array());
    if (std::find(known.begin(), known.end(), value) != known.end()) key = name;
  }
  if (key.empty()) return "";
  return fmt::format("; did you mean {}={}?", (place / key).to_string(),
                     value.get_ref<const std::string&>());
}

/// The nearest of the known words, as a question.
std::string nearest_text(const json& value, const json& node) {
  if (!value.is_string() || !node.contains("enum")) return "";
  std::vector<std::string> words;
  for (const json& word : node["enum"]) {
    if (word.is_string()) words.push_back(word);
  }
  const auto near = nearest(value.get<std::string>(), words);
  return near ? fmt::format("; did you mean \"{}\"?", *near) : "";
}

/// For "schedule.name", and for a key of the section around this one, the pointer that was probably
/// meant. `known` and `around` are the keys of both.
std::string unknown_key_text(const Pointer& place, const std::string& key, const json& known,
                             const json& around) {
  if (around.contains(key)) {
    return fmt::format("unknown key \"{}\"; did you mean {}?", key,
                       (place.parent_pointer() / key).to_string());
  }
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos || !known.contains(key.substr(0, dot))) {
    return unknown_text(fmt::format("key \"{}\"", key), key, keys_of(known));
  }
  std::string path = place.to_string() + "/" + key;
  std::replace(path.begin(), path.end(), '.', '/');
  return fmt::format(
      "unknown key \"{}\"; did you mean {}? each step of a pointer begins with \"/\"", key, path);
}

/// Throws the error at one place of the document; `around` are the keys of the section around it.
[[noreturn]] void report(const Pointer& place, const json& value, const json& node,
                         const json& around) {
  if (value.is_object() && node.contains("properties")) {
    for (const auto& [key, ignored] : value.items()) {
      if (node["properties"].contains(key) ||
          node.value("additionalProperties", json(true)) != false) {
        continue;
      }
      throw InputError((place / key).to_string(),
                       unknown_key_text(place, key, node["properties"], around));
    }
    for (const json& key : node.value("required", json::array())) {
      if (value.contains(key)) continue;
      throw InputError((place / key.get<std::string>()).to_string(),
                       fmt::format("\"{}\" is missing", key.get<std::string>()));
    }
  }
  const bool right_type = value.is_object() && node.value("type", json()) == "object" &&
                          !node.contains("minProperties");
  std::string what = fmt::format("{} is not {}", shown(value), right_type ? "valid" : wanted(node));
  if (node.contains("description")) {
    what += fmt::format(" ({})", node["description"].get<std::string>());
  }
  what += meant_text(place, value, node) + nearest_text(value, node);
  throw InputError(place.to_string(), what);
}

}  // namespace

bool is_of_unknown_key(const InputError& error) {
  return std::string_view(error.what()).starts_with("unknown key");
}

std::string taken_text(const json& schema, const json& root) {
  return wanted(resolved(root, schema));
}

struct Schema::Prepared {
  explicit Prepared(const json& text) : source(text) {
    const valijson::adapters::NlohmannJsonAdapter adapter(source);
    valijson::SchemaParser().populateSchema(adapter, parsed);
  }

  json source;
  valijson::Schema parsed;
};

Schema::Schema(const json& schema) : prepared_(std::make_unique<const Prepared>(schema)) {}
Schema::~Schema() = default;
Schema::Schema(Schema&&) noexcept = default;
Schema& Schema::operator=(Schema&&) noexcept = default;

void Schema::check(const json& document) const {
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  if (validator.validate(prepared_->parsed, adapter, &results)) return;
  // The deepest of the nested errors is the cause; of equals, the first.
  Pointer place;
  std::size_t depth = 0;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    if (error.context.size() <= depth) continue;
    depth = error.context.size();
    place = pointer_of(error.context);
  }
  const auto at = [&](const Pointer& one) { return schema_at(prepared_->source, document, one); };
  const json around = place.empty() ? json::object() : at(place.parent_pointer());
  report(place, document.at(place), at(place), around.value("properties", json::object()));
}

}  // namespace penstock
