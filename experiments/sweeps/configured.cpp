#include "experiments/sweeps/configured.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "experiments/files/json_input.hpp"
#include "experiments/files/quantity.hpp"
#include "experiments/scenario/scenario.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

void set_value(json& document, const std::string& pointer, const std::string& value) {
  const std::size_t star = pointer.find("/*/");
  if (star == std::string::npos) return apply_settings(document, {pointer + "=" + value});
  const std::string list = pointer.substr(0, star);
  const json::json_pointer place(list);
  const std::size_t items =
      document.contains(place) && document.at(place).is_array() ? document.at(place).size() : 0;
  if (items == 0) {
    throw InputError(pointer, fmt::format("{} is no list with items in the scenario", list));
  }
  for (std::size_t i = 0; i < items; ++i) {
    set_value(document, fmt::format("{}/{}{}", list, i, pointer.substr(star + 2)), value);
  }
}

bool is_pointer_of(const SweepSpace& space, std::string_view where) {
  for (const std::string& pointer : space.pointers()) {
    if (pointer.find("/*/") != std::string::npos) {
      const std::string_view list = std::string_view(pointer).substr(0, pointer.find("/*/"));
      const std::string_view key = std::string_view(pointer).substr(pointer.rfind('/'));
      if (where.starts_with(list) && where.ends_with(key)) return true;
    } else if (std::string_view(pointer).starts_with(where)) {
      return true;
    }
  }
  return false;
}

}  // namespace

json configured(const SweepSpace& space, const std::vector<std::string>& values) {
  return configured(*space.request().base, space.pointers(), values);
}

json configured(const json& base, const std::vector<std::string>& pointers,
                const std::vector<std::string>& values) {
  json document = base;
  for (std::size_t i = 0; i < values.size(); ++i) set_value(document, pointers[i], values[i]);
  return document;
}

void check_pointers(const SweepSpace& space) {
  json document = configured(space, space.values(0));
  try {
    convert_quantities(document);
    Schema(json::parse(scenario_schema())).check(document);
  } catch (const InputError& error) {
    const bool unknown = std::string_view(error.what()).starts_with("unknown key");
    if (unknown && is_pointer_of(space, error.where())) throw;
  }
}

}  // namespace penstock
