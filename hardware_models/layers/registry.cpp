#include "hardware_models/layers/registry.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

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

NamedNumbers all_numbers_of(const LayerSpec& spec) {
  try {
    const LayerKindEntry& entry = kind_of(spec);
    return settled_numbers(entry.name, entry.parameters, spec.numbers);
  } catch (const InputError& error) {
    rethrow(spec, error);
  }
}

LayerWork work_of(const LayerSpec& spec, const CellShape& shape) {
  const LayerNumbers numbers(all_numbers_of(spec));
  try {
    return kind_of(spec).work(numbers, shape);
  } catch (const InputError& error) {
    rethrow(spec, error);
  }
}

}  // namespace penstock
