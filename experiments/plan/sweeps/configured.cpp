#include "experiments/plan/sweeps/configured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// Sets every item of a list at a step `*`.
void set_values(json& document, const std::string& pointer, const std::string& value) {
  const std::size_t star = pointer.find("/*/");
  if (star == std::string::npos) {
    return below(pointer, [&] { set_value(document, pointer, value); });
  }
  const std::string list = pointer.substr(0, star);
  const json::json_pointer place(list);
  const std::size_t items =
      document.contains(place) && document.at(place).is_array() ? document.at(place).size() : 0;
  if (items == 0) {
    throw InputError(pointer, fmt::format("{} is no list with items in the scenario", list));
  }
  for (std::size_t i = 0; i < items; ++i) {
    set_values(document, fmt::format("{}/{}{}", list, i, pointer.substr(star + 2)), value);
  }
}

/// Whether a place is on the way to what a pointer names.
bool leads_to(std::string_view where, std::string_view pointer) {
  const std::size_t star = pointer.find("/*/");
  if (star == std::string_view::npos) return pointer.starts_with(where);
  return where.starts_with(pointer.substr(0, star)) &&
         where.ends_with(pointer.substr(pointer.rfind('/')));
}

bool is_pointer_of(const SweepSpace& space, std::string_view where) {
  const auto& all = space.pointers();
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& pointer) { return leads_to(where, pointer); });
}

/// Throws UsageError for a text of --vary that its key cannot take, such as "four" for a number.
void check_texts(const Axis& axis, const json& base, const Schema& schema) {
  constexpr std::size_t most_checked = 1000;
  for (std::size_t p = 0; p < axis.pointers.size(); ++p) {
    const std::vector<std::string>& list = axis.values[p].list;
    for (std::size_t i = 0; i < std::min(most_checked, list.size()); ++i) {
      if (json::parse(list[i]).is_number()) continue;
      json document = base;
      set_values(document, axis.pointers[p], list[i]);
      try {
        convert_quantities(document);
        schema.check(document);
      } catch (const InputError& error) {
        if (error.where().empty() || !leads_to(error.where(), axis.pointers[p])) continue;
        throw UsageError(fmt::format("{}: {}", axis.option, error.what()));
      }
    }
  }
}

}  // namespace

json configured(const SweepSpace& space, const std::vector<std::string>& values) {
  return configured(*space.request().base, space.pointers(), values);
}

json configured(const json& base, const std::vector<std::string>& pointers,
                const std::vector<std::string>& values) {
  json document = base;
  for (std::size_t i = 0; i < values.size(); ++i) set_values(document, pointers[i], values[i]);
  return document;
}

void check_pointers(const SweepSpace& space) {
  const Schema schema(scenario_schema());
  const json base = configured(space, space.values(0));
  for (const Axis& axis : space.request().axes) {
    if (!axis.option.empty()) check_texts(axis, base, schema);
  }
  json document = base;
  try {
    convert_quantities(document);
    schema.check(document);
  } catch (const InputError& error) {
    const bool unknown = std::string_view(error.what()).starts_with("unknown key");
    if (unknown && is_pointer_of(space, error.where())) throw;
  }
}

}  // namespace penstock
