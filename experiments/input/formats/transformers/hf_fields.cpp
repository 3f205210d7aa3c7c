#include "experiments/input/formats/transformers/hf_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// A value for an error text.
std::string shown(const json& value) {
  constexpr std::size_t longest = 40;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return shortened(value.dump(-1, ' ', true, json::error_handler_t::replace), longest);
}

/// An object inside a config; null where there is none.
const json* part_of(const json& document, std::string_view name) {
  const auto inner = document.find(name);
  if (inner == document.end() || inner->is_null()) return nullptr;
  if (inner->is_object()) return &*inner;
  throw InputError(pointer_step(name), "expected an object with the model's fields");
}

std::string range_text(const HfField& field) {
  return fmt::format("{}, a whole number from {} to {}", field.summary, field.least, field.most);
}

}  // namespace

HfFields::HfFields(const json& document) : object_(&document), around_(&document) {
  if (!document.is_object()) throw InputError("", "a config is a JSON object");
  if (const json* text = part_of(document, "text_config")) {
    place_ = "/text_config";
    object_ = text;
  }
}

std::optional<HfFields> HfFields::part(std::string_view name) const {
  const json* inner = part_of(*around_, name);
  if (inner == nullptr) return std::nullopt;
  return HfFields(*inner, *around_, pointer_step(name));
}

HfFields::HfFields(const json& object, const json& around, std::string place)
    : object_(&object), around_(&around), place_(std::move(place)) {}

HfFields HfFields::around() const { return {*around_, *around_, ""}; }

std::string HfFields::place(std::string_view name) const { return place_ + pointer_step(name); }

const json* HfFields::find(std::string_view name) const {
  for (const json* object : {object_, defaults_}) {
    if (object == nullptr) continue;
    const auto found = object->find(name);
    if (found != object->end()) return found->is_null() ? nullptr : &*found;
  }
  return nullptr;
}

std::optional<double> HfFields::number(const HfField& field) const {
  if (defaults_ != nullptr) {
    HfFields stated = *this;  // under any name, before a default under another
    stated.defaults_ = nullptr;
    if (const auto value = stated.number(field)) return value;
  }
  for (const std::string_view name : field.names) {
    const json* value = name.empty() ? nullptr : find(name);
    if (value == nullptr) continue;
    const double number = value->is_number() ? value->get<double>() : -1;
    const bool fits = number >= field.least && number <= field.most && std::floor(number) == number;
    if (fits) return number;
    throw InputError(place(name),
                     fmt::format("{} is not valid: expected {}", shown(*value), range_text(field)));
  }
  return std::nullopt;
}

double HfFields::needed(const HfField& field) const {
  if (const auto value = number(field)) return *value;
  throw InputError(place(field.names[0]), fmt::format("\"{}\" is missing; expected {}",
                                                      field.names[0], range_text(field)));
}

std::optional<double> HfFields::rate(std::string_view name, double most) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (number >= 0 && number <= most) return number;
  throw InputError(place(name),
                   fmt::format("{} is not a number from 0 to {}", shown(*value), most));
}

std::optional<bool> HfFields::flag(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  throw InputError(place(name), fmt::format("{} is not true or false", shown(*value)));
}

std::optional<std::string> HfFields::word(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  throw InputError(place(name), fmt::format("{} is not a text", shown(*value)));
}

std::optional<std::vector<bool>> HfFields::layer_flags(std::string_view name, double layers) const {
  const json* value = find(name);
  if (value == nullptr || !value->is_array()) return std::nullopt;
  if (static_cast<double>(value->size()) != layers) {
    throw InputError(place(name), fmt::format("it lists {} layers; it must list {}, as many as "
                                              "there are",
                                              value->size(), layers));
  }
  std::vector<bool> flags;
  for (const json& item : *value) {
    if (item != 0 && item != 1) {
      throw InputError(
          fmt::format("{}/{}", place(name), flags.size()),
          fmt::format("{} is not 1, for a layer with experts, or 0, for one without", shown(item)));
    }
    flags.push_back(item == 1);
  }
  return flags;
}

std::optional<std::vector<std::size_t>> HfFields::layer_list(std::string_view name,
                                                             double layers) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) {
    throw InputError(place(name), fmt::format("{} is not a list of layers", shown(*value)));
  }
  std::vector<std::size_t> list;
  for (const json& item : *value) {
    const double layer = item.is_number_integer() ? item.get<double>() : -1;
    if (layer < 0 || layer >= layers) {
      throw InputError(
          fmt::format("{}/{}", place(name), list.size()),
          fmt::format("{} is no layer; layers are numbered from 0 to {}", shown(item), layers - 1));
    }
    list.push_back(static_cast<std::size_t>(layer));
  }
  return list;
}

std::optional<std::vector<std::string>> HfFields::words(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr || !value->is_array()) return std::nullopt;
  std::vector<std::string> words;
  for (const json& item : *value) {
    if (!item.is_string()) {
      throw InputError(fmt::format("{}/{}", place(name), words.size()),
                       fmt::format("{} is not a text", shown(item)));
    }
    words.push_back(item.get<std::string>());
  }
  return words;
}

std::optional<std::vector<std::string>> HfFields::layer_words(std::string_view name,
                                                              double layers) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array() || static_cast<double>(value->size()) != layers) {
    throw InputError(place(name),
                     fmt::format("it must be a list of {} texts, one a layer", layers));
  }
  return words(name);
}

std::optional<double> HfFields::length(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr || !value->is_array()) return std::nullopt;
  return static_cast<double>(value->size());
}

bool HfFields::is_word(std::string_view name, std::string_view text) const {
  const json* value = find(name);
  return value != nullptr && *value == text;
}

std::optional<std::string> HfFields::first_word_anywhere(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr && object_ != around_) return around().first_word_anywhere(name);
  if (value == nullptr || !value->is_array() || value->empty()) return std::nullopt;
  if (value->front().is_string()) return value->front().get<std::string>();
  throw InputError(place(name) + "/0", "it must be the name of a class");
}

std::optional<std::string> HfFields::word_anywhere(std::string_view name) const {
  if (auto value = word(name)) return value;
  return around().word(name);
}

std::optional<bool> HfFields::flag_anywhere(std::string_view name) const {
  if (const auto value = flag(name)) return value;
  return around().flag(name);
}

std::string without_infinity(std::string_view text) {
  constexpr std::string_view word = "Infinity", instead = "null    ";
  std::string plain(text);
  bool quoted = false;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (plain[at] == '"') quoted = !quoted;
    if (quoted && plain[at] == '\\') ++at;
    if (quoted) continue;
    if (plain.compare(at, word.size(), word) != 0) continue;
    plain.replace(at, word.size(), instead);
    if (at > 0 && plain[at - 1] == '-') plain[at - 1] = ' ';
  }
  return plain;
}

}  // namespace penstock
