#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace penstock::fuzz {
namespace {

using nlohmann::json;

/// Values that break what is not checked.
json odd_value(Dice& dice) {
  static const std::vector<json> values{nullptr,
                                        true,
                                        false,
                                        0,
                                        1,
                                        2,
                                        3,
                                        7,
                                        64,
                                        -1,
                                        0.5,
                                        1e-300,
                                        1e300,
                                        4294967295U,
                                        4294967296U,
                                        std::numeric_limits<std::int64_t>::max(),
                                        std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::uint64_t>::max(),
                                        "",
                                        "1f1b",
                                        "2GB",
                                        "10ms",
                                        "auto",
                                        json::array(),
                                        json::object(),
                                        json::array({0, 1}),
                                        json::array({json::array({0})})};
  return values[dice.below(values.size())];
}

const json& resolved(const json& schema, const json& root) {
  const auto ref = schema.find("$ref");
  if (ref == schema.end()) return schema;
  return root.at(json::json_pointer(ref->get<std::string>().substr(1)));
}

json number_of(const json& schema, Dice& dice) {
  const double least = schema.value("minimum", schema.value("exclusiveMinimum", 0.0));
  const double most = schema.value("maximum", 1e6);
  const double small = least + static_cast<double>(dice.below(9));
  const double values[] = {least, most, small, small, small, least - 1, most * 2, small / 3};
  const double value = values[dice.below(std::size(values))];
  const bool whole = schema.value("type", json()) == "integer";
  if (whole && value > -1e18 && value < 1e18) return static_cast<std::int64_t>(value);
  return value;
}

json value_of(const json& given, const json& root, Dice& dice, int depth);

json object_of(const json& schema, const json& root, Dice& dice, int depth) {
  json object = json::object();
  const json properties = schema.value("properties", json::object());
  const json required = schema.value("required", json::array());
  for (const auto& [key, value] : properties.items()) {
    const bool needed = std::find(required.begin(), required.end(), key) != required.end();
    const bool taken = needed ? dice.below(20) != 0 : dice.below(6) == 0;
    if (taken) object[key] = value_of(value, root, dice, depth + 1);
  }
  return object;
}

/// A value that a schema allows, or nearly.
json value_of(const json& given, const json& root, Dice& dice, int depth) {
  if (depth > 6 || dice.below(40) == 0) return odd_value(dice);
  const json& schema = resolved(given, root);
  for (const char* choice : {"anyOf", "oneOf"}) {
    const auto all = schema.find(choice);
    if (all != schema.end()) {
      return value_of((*all)[dice.below(all->size())], root, dice, depth + 1);
    }
  }
  if (schema.contains("enum")) return schema["enum"][dice.below(schema["enum"].size())];
  if (schema.contains("const")) return schema["const"];
  json type = schema.value("type", json("object"));
  if (type.is_array()) type = type[dice.below(type.size())];
  if (type == "object") return object_of(schema, root, dice, depth);
  if (type == "boolean") return dice.below(2) == 0;
  if (type == "number" || type == "integer") return number_of(schema, dice);
  if (type != "array") return odd_value(dice);
  json list = json::array();
  for (std::size_t n = dice.below(4); n > 0; --n) {
    list.push_back(value_of(schema.value("items", json::object()), root, dice, depth + 1));
  }
  return list;
}

/// All values of a document that have others.
void collect(json& value, std::vector<json*>& all) {
  all.push_back(&value);
  if (value.is_structured()) {
    for (json& item : value) collect(item, all);
  }
}

/// Sets a key that the schema knows, at some depth.
void follow_schema(json& document, const json& root, Dice& dice) {
  json* place = &document;
  const json* schema = &root;
  for (int depth = 0; depth < 5; ++depth) {
    const json& here = resolved(*schema, root);
    if (place->is_array() && !place->empty() && here.contains("items")) {
      place = &(*place)[dice.below(place->size())];
      schema = &here["items"];
      continue;
    }
    const auto properties = here.find("properties");
    if (properties == here.end() || properties->empty() || !place->is_object()) break;
    auto property = properties->begin();
    std::advance(property, static_cast<std::ptrdiff_t>(dice.below(properties->size())));
    const bool goes_on = place->contains(property.key()) && dice.below(4) != 0;
    json& value = (*place)[property.key()];
    place = &value;
    schema = &property.value();
    if (!goes_on) break;
  }
  *place = value_of(*schema, root, dice, 0);
}

void drop_or_repeat(json& value, Dice& dice) {
  if (value.empty()) return;
  auto item = value.begin();
  std::advance(item, static_cast<std::ptrdiff_t>(dice.below(value.size())));
  if (value.is_array() && dice.below(2) == 0) {
    value.push_back(json(*item));
  } else {
    value.erase(item);
  }
}

}  // namespace

std::size_t Dice::below(std::size_t count) {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::size_t>((x ^ (x >> 31)) % count);
}

void mutate(json& document, const json* schema, Dice& dice) {
  if (schema != nullptr && dice.below(3) != 0) return follow_schema(document, *schema, dice);
  std::vector<json*> all;
  collect(document, all);
  json& value = *all[dice.below(all.size())];
  switch (dice.below(4)) {
    case 0:
      value = odd_value(dice);
      break;
    case 1:
      value = json(*all[dice.below(all.size())]);
      break;
    case 2:
      if (value.is_structured()) drop_or_repeat(value, dice);
      break;
    default:
      if (value.is_number()) value = value.get<double>() * static_cast<double>(dice.below(5));
  }
}

}  // namespace penstock::fuzz
