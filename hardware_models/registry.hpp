#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "sim/hardware_model.hpp"

namespace penstock {

/// What a scenario says about its hardware.
struct HardwareSpec {
  double transfer_us = 0;  // per tensor that crosses ranks; occupies nothing
  std::optional<double> latency_us;
  std::optional<double> bandwidth_bytes_per_s;
};

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
