#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "experiments/files/json_input.hpp"
#include "experiments/files/nearest.hpp"
#include "experiments/files/plain_text.hpp"
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

/// The target of a "$ref", or the node itself.
const json& resolved(const json& schema, const json& node) {
  if (!node.is_object() || !node.contains("$ref")) return node;
  const std::string reference = node["$ref"];
  return schema.at(Pointer(reference.substr(1)));  // "#/definitions/…"
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
const json& speaking_of(const json& schema, const json& node, const json& value) {
  if (!node.is_object() || !node.contains("if")) return resolved(schema, node);
  return resolved(schema, node[fits(value, node["if"]) ? "then" : "else"]);
}

/// The part of the schema that applies to a place of the document.
const json& schema_at(const json& schema, const json& document, const Pointer& place) {
  static const json anything = json::object();
  std::vector<std::string> steps;
  for (Pointer rest = place; !rest.empty(); rest.pop_back()) steps.push_back(rest.back());
  const json* node = &schema;
  Pointer here;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (node->contains("properties") && (*node)["properties"].contains(*step)) {
      node = &(*node)["properties"][*step];
    } else if (node->contains("items")) {
      node = &(*node)["items"];
    } else if (node->contains("additionalProperties")) {
      node = &(*node)["additionalProperties"];
    } else {
      return anything;
    }
    here /= *step;
    node = &speaking_of(schema, *node, document.at(here));
  }
  return *node;
}

std::string keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return fmt::format("{}", fmt::join(keys, ", "));
}

/// A bound of a schema: 1e+12 instead of 1000000000000.0.
std::string bound_text(const json& bound) {
  return bound.is_number_float() ? fmt::format("{:g}", bound.get<double>()) : bound.dump();
}

/// The expected value, from the schema's description: "a number from 0 to 1e12: time of …".
std::string wanted(const json& node) {
  std::string text;
  if (node.contains("enum")) {
    std::vector<std::string> values;
    for (const json& value : node["enum"]) values.push_back(value.dump());
    text = fmt::format("one of {}", fmt::join(values, ", "));
  } else if (node.contains("type")) {
    text = node["type"].is_string() ? "of type " + node["type"].get<std::string>()
                                    : "of one of the types " + node["type"].dump();
  }
  if (node.contains("minimum")) text += fmt::format(", at least {}", bound_text(node["minimum"]));
  if (node.contains("maximum")) text += fmt::format(", at most {}", bound_text(node["maximum"]));
  if (node.contains("minItems"))
    text += fmt::format(", with {} items or more", node["minItems"].dump());
  if (node.contains("maxItems"))
    text += fmt::format(", with {} items or fewer", node["maxItems"].dump());
  return text;
}

/// A value in an error text, shortened if it is long.
std::string shown(const json& value) {
  constexpr std::size_t longest = 40;
  return shortened(value.dump(-1, ' ', false, json::error_handler_t::replace), longest);
}

/// Throws the error at one place of the document.
[[noreturn]] void report(const Pointer& place, const json& value, const json& node) {
  if (value.is_object() && node.contains("properties")) {
    for (const auto& [key, ignored] : value.items()) {
      if (node["properties"].contains(key) ||
          node.value("additionalProperties", json(true)) != false) {
        continue;
      }
      throw InputError((place / key).to_string(), unknown_text(fmt::format("key \"{}\"", key), key,
                                                               keys_of(node["properties"])));
    }
    for (const json& key : node.value("required", json::array())) {
      if (value.contains(key)) continue;
      throw InputError((place / key.get<std::string>()).to_string(),
                       fmt::format("\"{}\" is missing", key.get<std::string>()));
    }
  }
  std::string what = fmt::format("{} does not fit; it must be {}", shown(value), wanted(node));
  if (node.contains("description")) {
    what += fmt::format(" ({})", node["description"].get<std::string>());
  }
  throw InputError(place.to_string(), what);
}

}  // namespace

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
  report(place, document.at(place), schema_at(prepared_->source, document, place));
}

}  // namespace penstock
