#include "hardware_models/layers/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"
#include "sim/named.hpp"

namespace penstock {
namespace {

void check_names(const LayerKindEntry& entry, const LayerSpec& spec) {
  std::vector<std::string_view> known;
  for (const LayerParameter& parameter : entry.parameters) known.push_back(parameter.name);
  for (const auto& given : spec.numbers) {
    if (std::find(known.begin(), known.end(), given.first) != known.end()) continue;
    throw InputError(pointer_step(given.first),
                     fmt::format("unknown key \"{}\"; {} takes {}", given.first, entry.name,
                                 fmt::join(known, ", ")));
  }
}

double value_of(const LayerKindEntry& entry, const LayerParameter& parameter,
                const LayerSpec& spec) {
  const auto found = spec.numbers.find(parameter.name);
  if (found == spec.numbers.end()) {
    if (parameter.otherwise) return *parameter.otherwise;
    throw InputError(pointer_step(parameter.name),
                     fmt::format("\"{}\" is missing; {} needs it ({})", parameter.name, entry.name,
                                 parameter.summary));
  }
  const double value = found->second;
  const bool fits = value >= parameter.least && value <= parameter.most &&
                    (!parameter.whole || std::floor(value) == value);
  if (fits) return value;
  throw InputError(pointer_step(parameter.name),
                   fmt::format("{} does not fit; it must be a {}number from {} to {} ({})", value,
                               parameter.whole ? "whole " : "", parameter.least, parameter.most,
                               parameter.summary));
}

const LayerKindEntry& kind_of(const LayerSpec& spec) {
  if (const LayerKindEntry* entry = find_named(layer_kind_entries(), spec.kind)) return *entry;
  throw InputError("/kind", fmt::format("unknown kind \"{}\"; known: {}", spec.kind,
                                        names_of(layer_kind_entries())));
}

/// The place of an error below a layer that has none itself goes into its text.
[[noreturn]] void rethrow(const LayerSpec& spec, const InputError& error) {
  if (!spec.source.empty()) throw InputError(spec.source + error.where(), error.what());
  const std::string number = error.where().empty() ? "" : ", " + error.where().substr(1);
  throw InputError(fmt::format("a layer of kind \"{}\"{}: {}", spec.kind, number, error.what()));
}

}  // namespace

double LayerNumbers::operator[](std::string_view name) const { return values_.find(name)->second; }

std::optional<double> LayerNumbers::given(std::string_view name) const {
  const double value = (*this)[name];
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

double LayerNumbers::share(std::string_view name, double degree, std::string_view group) const {
  const double value = (*this)[name];
  if (std::fmod(value, degree) == 0) return value / degree;
  throw InputError(
      pointer_step(name),
      fmt::format("{} cannot be shared by the {} devices of {} parallelism; it must be "
                  "a multiple of that",
                  value, degree, group));
}

LayerWork work_of(const LayerSpec& spec, const CellShape& shape) {
  try {
    const LayerKindEntry& entry = kind_of(spec);
    check_names(entry, spec);
    std::map<std::string, double, std::less<>> values;
    for (const LayerParameter& parameter : entry.parameters) {
      values[std::string(parameter.name)] = value_of(entry, parameter, spec);
    }
    return entry.work(LayerNumbers(std::move(values)), shape);
  } catch (const InputError& error) {
    rethrow(spec, error);
  }
}

}  // namespace penstock
