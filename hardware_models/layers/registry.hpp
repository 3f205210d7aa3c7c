#pragma once

#include <span>
#include <string_view>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/parameters.hpp"

namespace penstock {

/// A kind of layer: one .cpp in this folder.
struct LayerKindEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  /// Throws InputError with a pointer below the layer for inconsistent parameters.
  LayerWork (*work)(const LayerNumbers& numbers, const CellShape& shape);
};

/// All kinds of layer, by name.
std::span<const LayerKindEntry* const> layer_kind_entries();

/// The checked parameters of a layer, defaults filled in. Throws as `work_of` does.
NamedNumbers all_numbers_of(const LayerSpec& spec);

/// The work of a layer, after checking its parameters. Throws InputError with a pointer below the
/// layer's source; without a source, its text names parameter and kind.
LayerWork work_of(const LayerSpec& spec, const CellShape& shape);

}  // namespace penstock
