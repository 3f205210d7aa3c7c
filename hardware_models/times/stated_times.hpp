#pragma once

#include <optional>

#include "hardware_models/links/link_costs.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Microseconds of a pass as the layer states them; nothing when it does not.
std::optional<double> stated_us(const Layer& layer, Pass pass);

/// Whether a layer states any time; it then takes its times on any hardware.
bool states_times(const Layer& layer);

/// Whether a layer has a kind or work but no times.
bool states_work_only(const Layer& layer);

/// Devices with the layer times that the model states.
class StatedHardware final : public LinkedHardware {
 public:
  using LinkedHardware::LinkedHardware;
  /// Throws InputError at a layer that states only work.
  std::optional<double> compute_us(const Layer& layer, Pass pass) const override;
};

}  // namespace penstock
