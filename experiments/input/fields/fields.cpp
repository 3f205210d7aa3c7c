#include "experiments/input/fields/fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace penstock {
namespace {

using nlohmann::json;
using Schema = nlohmann::ordered_json;

using Json = nlohmann::ordered_json;

Takes of_type(const char* type) { return Json{{"type", type}}; }

Takes quantity(const char* name) { return Json{{"$ref", std::string("#/definitions/") + name}}; }

Json counted(Json schema, std::int64_t least, std::int64_t most) {
  if (least > 0) schema["minItems"] = least;
  if (most != any_count) schema["maxItems"] = most;
  return schema;
}

/// A quantity: a number, or a text with one of the units.
struct Quantity {
  const char* name;
  const char* any_name;  // without bounds; may be null
  double least, most;
  const char* units;  // a regular expression
  const char* example;
};
constexpr const char* byte_units = "([kKMGTP]?B|[KMGTP]iB)";
constexpr std::array quantities{
    Quantity{"time_us", "any_time", 0, 1e12, "(ps|ns|us|µs|μs|ms|s|min|h)", "2ms"},
    Quantity{"bytes", "any_bytes", 0, 1e18, byte_units, "64GiB"},
    Quantity{"bandwidth", "any_bandwidth", 1, 1e18, "(([kKMGT]?B|[KMGT]iB|[kMGT]?b|[kMGT]bit)/s)",
             "25GB/s"},
    Quantity{"megabytes", nullptr, 0, 1e9, byte_units, "64MB"}};

/// A schema without a reference to a definition.
const Json& resolved(const Json& schema) {
  if (!schema.contains("$ref")) return schema;
  const auto name = schema.at("$ref").get<std::string>();
  return quantity_definitions().at(name.substr(name.rfind('/') + 1));
}

/// The types of both, each a name or a list of names.
Json types_of_both(const Json& one, const Json& other) {
  Json all = Json::array();
  for (const Json* types : {&one, &other}) {
    if (types->is_array()) {
      all.insert(all.end(), types->begin(), types->end());
    } else {
      all.push_back(*types);
    }
  }
  return all;
}

Json definition_of(const Quantity& quantity, bool bounded) {
  Json schema{{"type", {"number", "string"}}};
  if (bounded) {
    schema["minimum"] = quantity.least;
    schema["maximum"] = quantity.most;
  }
  schema["pattern"] =
      std::string("^([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?\\s*") + quantity.units + "\\s*$";
  schema["examples"] = {quantity.example};
  return schema;
}

}  // namespace

Field cost(Field field) {
  field.of_costs = true;
  return field;
}

Field turned(Field field, const Slider& slider) {
  field.slider = slider;
  return field;
}

const Field* find_field(const Fields& fields, std::string_view key) {
  const auto found = std::ranges::find(fields.fields, key, &Field::key);
  return found == fields.fields.end() ? nullptr : &*found;
}

Fields with(Fields fields, std::initializer_list<const std::vector<Field>*> more) {
  for (const std::vector<Field>* some : more) {
    fields.fields.insert(fields.fields.end(), some->begin(), some->end());
  }
  return fields;
}

Takes object_of(const Fields& fields) {
  Schema schema{{"type", "object"}};
  if (!fields.about.empty()) schema["description"] = fields.about;
  if (!fields.required.empty()) schema["required"] = fields.required;
  schema["properties"] = Schema::object();
  for (const Field& field : fields.fields) {
    schema["properties"][std::string(field.key)] = meaning(field.takes, field.about).schema();
  }
  schema["additionalProperties"] = fields.others ? fields.others->schema() : Schema(false);
  return schema;
}

Schema schema_of(const Fields& fields, const char* title) {
  Schema schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", title},
                {"definitions", quantity_definitions()}};
  schema.update(object_of(fields).schema());
  return schema;
}

Field note() { return {"description", text(), "what it is about, for its readers"}; }

void read_fields(const Fields& fields, const json& object, void* section) {
  for (const Field& field : fields.fields) {
    const auto stated = object.find(field.key);
    if (field.read && stated != object.end()) field.read(*stated, section);
  }
}

std::vector<std::string> other_keys(const Fields& fields, const json& object) {
  std::vector<std::string> others;
  for (const auto& [key, value] : object.items()) {
    if (find_field(fields, key) == nullptr) others.push_back(key);
  }
  return others;
}

void read_value(const json& value, bool& target) { target = value.get<bool>(); }
void read_value(const json& value, double& target) { target = value.get<double>(); }
void read_value(const json& value, std::uint32_t& target) { target = value.get<std::uint32_t>(); }
void read_value(const json& value, std::uint64_t& target) { target = value.get<std::uint64_t>(); }
void read_value(const json& value, std::int64_t& target) { target = value.get<std::int64_t>(); }
void read_value(const json& object, std::map<std::string, double, std::less<>>& target) {
  for (const auto& [name, value] : object.items()) target[name] = value.get<double>();
}
void read_value(const json& value, std::string& target) { target = value.get<std::string>(); }

std::uint8_t word_number(const json& value, const Takes& takes) {
  const Schema& words = takes.schema().at("enum");
  const auto at = std::find(words.begin(), words.end(), value.get<std::string>());
  return static_cast<std::uint8_t>(at - words.begin());
}

void for_each_item(const json& list, const std::function<void(const json&)>& step) {
  for (const json& item : list) step(item);
}

Takes::Takes(Json schema) : schema_(std::make_shared<const Json>(std::move(schema))) {}

std::pair<double, double> Takes::bounds() const {
  const Json& schema = resolved(*schema_);
  return {schema.value("minimum", -unbounded), schema.value("maximum", unbounded)};
}

bool Takes::only_whole() const { return schema_->value("type", Json()) == "integer"; }

Takes meaning(const Takes& takes, std::string_view about) {
  Json schema = takes.schema();
  if (!about.empty()) schema["description"] = about;
  return schema;
}

Takes truth() { return of_type("boolean"); }
Takes text() { return of_type("string"); }
Takes full_text() { return Json{{"type", "string"}, {"minLength", 1}}; }

Takes words(std::initializer_list<std::string_view> all) {
  Json schema;
  for (const std::string_view word : all) schema["enum"].push_back(word);
  return schema;
}

Takes number(double least, double most) {
  Json schema{{"type", "number"}};
  if (std::isfinite(least)) schema["minimum"] = least;
  if (std::isfinite(most)) schema["maximum"] = most;
  return schema;
}

Takes positive_number(double most) {
  return Json{{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", most}};
}

Takes whole(std::int64_t least, std::int64_t most) {
  Json schema{{"type", "integer"}};
  if (least != -any_count) schema["minimum"] = least;
  if (most != any_count) schema["maximum"] = most;
  return schema;
}

Takes time_us() { return quantity("time_us"); }
Takes bytes() { return quantity("bytes"); }
Takes megabytes() { return quantity("megabytes"); }
Takes bandwidth() { return quantity("bandwidth"); }
Takes watts() { return number(1, 1e6); }
Takes any_time() { return quantity("any_time"); }
Takes any_bytes() { return quantity("any_bytes"); }
Takes any_bandwidth() { return quantity("any_bandwidth"); }

Takes list_of(const Takes& items, std::int64_t least, std::int64_t most) {
  Json schema = counted(Json{{"type", "array"}}, least, most);
  schema["items"] = items.schema();
  return schema;
}

Takes map_of(const Takes& values) {
  return Json{{"type", "object"}, {"minProperties", 1}, {"additionalProperties", values.schema()}};
}

Takes either(const Takes& one, const Takes& other) {
  Json schema = resolved(one.schema());
  const Json& more = resolved(other.schema());
  const Json types = types_of_both(schema.at("type"), more.at("type"));
  schema.update(more);
  schema["type"] = types;
  return schema;
}

Takes or_null(const Takes& takes) {
  Json schema = resolved(takes.schema());
  if (schema.contains("enum")) {
    schema["enum"].push_back(nullptr);
  } else {
    schema["type"] = types_of_both("null", schema.at("type"));
  }
  return schema;
}

Takes patch_of(const Takes& takes) {
  Json schema = takes.schema();
  schema.erase("required");
  const auto relax = [](Json& value) { value = or_null(patch_of(value)).schema(); };
  if (schema.contains("properties")) {
    for (Json& value : schema["properties"]) relax(value);
  }
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object()) {
    relax(schema["additionalProperties"]);
  }
  return schema;
}

const Json& quantity_definitions() {
  static const Json definitions = [] {
    Json all;
    for (const Quantity& quantity : quantities) {
      all[quantity.name] = definition_of(quantity, true);
      if (quantity.any_name != nullptr) all[quantity.any_name] = definition_of(quantity, false);
    }
    return all;
  }();
  return definitions;
}

}  // namespace penstock
