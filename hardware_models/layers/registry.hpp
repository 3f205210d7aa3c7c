#pragma once

#include <span>
#include <string_view>

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "hardware_models/spec/parameters.hpp"

namespace penstock {

/// One kind of layer. A kind is one .cpp of this folder.
struct LayerKindEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  /// Throws InputError, its place a pointer below the layer, for numbers that do not go together.
  LayerWork (*work)(const LayerNumbers& numbers, const CellShape& shape);
};

/// All kinds of layer, by name.
std::span<const LayerKindEntry* const> layer_kind_entries();

/// The numbers of a layer, checked, with defaults filled in. Throws as `work_of` does.
NamedNumbers all_numbers_of(const LayerSpec& spec);

/// Calls a layer's kind after checking its numbers. Throws InputError with a JSON pointer below the
/// layer's source; without a source, its text says which number of which kind.
LayerWork work_of(const LayerSpec& spec, const CellShape& shape);

}  // namespace penstock
