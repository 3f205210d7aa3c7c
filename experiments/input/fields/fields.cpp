#include "experiments/input/fields/fields.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace penstock {
namespace {

using nlohmann::json;
using Schema = nlohmann::ordered_json;

}  // namespace

Field cost(Field field) {
  field.of_costs = true;
  return field;
}

const Field* find_field(const Fields& fields, std::string_view key) {
  const auto found = std::find_if(fields.fields.begin(), fields.fields.end(),
                                  [&](const Field& field) { return field.key == key; });
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
void read_value(const json& value, std::string& target) { target = value.get<std::string>(); }

std::uint8_t word_number(const json& value, const Takes& takes) {
  const Schema& words = takes.schema().at("enum");
  const auto at = std::find(words.begin(), words.end(), value.get<std::string>());
  return static_cast<std::uint8_t>(at - words.begin());
}

void for_each_item(const json& list, const std::function<void(const json&)>& step) {
  for (const json& item : list) step(item);
}

}  // namespace penstock
