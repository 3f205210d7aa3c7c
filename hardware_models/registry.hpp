#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "hardware_models/spec/hardware_spec.hpp"
#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// One cost model. A cost model is one .cpp of this folder.
struct CostModelEntry {
  std::string_view name;
  std::string_view summary;
  /// Throws InputError when the fields of the spec contradict each other.
  std::unique_ptr<HardwareModel> (*make)(const HardwareSpec& spec);
};

/// All cost models, by name.
std::span<const CostModelEntry* const> cost_model_entries();

}  // namespace penstock
