#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "hardware_models/spec/hardware_spec.hpp"
#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// A cost model: one .cpp in this folder.
struct CostModelEntry {
  std::string_view name;
  std::string_view summary;
  /// Throws InputError when fields of the spec conflict.
  std::unique_ptr<HardwareModel> (*make)(const HardwareSpec& spec);
};

/// All cost models, by name.
std::span<const CostModelEntry* const> cost_model_entries();

}  // namespace penstock
