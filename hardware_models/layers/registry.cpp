#include "hardware_models/layers/registry.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

const LayerKindEntry& kind_of(const LayerSpec& spec) {
  if (const LayerKindEntry* entry = find_named(layer_kind_entries(), spec.kind)) return *entry;
  throw InputError("/kind", fmt::format("unknown kind \"{}\"; known: {}", spec.kind,
                                        names_of(layer_kind_entries())));
}

/// Adds the pointer of an error to its text when the layer has no source.
[[noreturn]] void rethrow(const LayerSpec& spec, const InputError& error) {
  if (!spec.source.empty()) throw InputError(spec.source + error.where(), error.what());
  const std::string number = error.where().empty() ? "" : ", " + error.where().substr(1);
  throw InputError(fmt::format("a layer of kind \"{}\"{}: {}", spec.kind, number, error.what()));
}

}  // namespace

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
    CellShape own = shape;
    own.sequence = numbers.given(patches_of_layer.name).value_or(shape.sequence);
    return kind_of(spec).work(numbers, own);
  } catch (const InputError& error) {
    rethrow(spec, error);
  }
}

}  // namespace penstock
