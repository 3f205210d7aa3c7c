#pragma once

#include <optional>

#include "sim/model/model_graph.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Microseconds of a pass as the layer states them; nothing when it does not.
std::optional<double> stated_us(const Layer& layer, Pass pass);

/// Whether a layer states any time; it then takes its times on any hardware.
bool states_times(const Layer& layer);

/// Whether a layer has a kind or work but no times.
bool states_work_only(const Layer& layer);

/// As `stated_us`, for hardware without a cost model. Throws InputError at a layer that states only
/// work.
std::optional<double> only_stated_us(const Layer& layer, Pass pass);

}  // namespace penstock
