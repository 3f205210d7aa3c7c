#pragma once

#include <optional>

#include "sim/model/model_graph.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// How long a pass over a layer takes by what the layer itself states, in microseconds; nothing
/// where it does not say.
std::optional<double> stated_us(const Layer& layer, Pass pass);

/// Whether a layer states any time at all; then it takes these on any hardware.
bool states_times(const Layer& layer);

/// Whether a layer is known by its kind or its work and states no times.
bool states_work_only(const Layer& layer);

/// The same as `stated_us` for hardware that knows nothing else. Throws InputError, at the layer,
/// where it states its work only.
std::optional<double> only_stated_us(const Layer& layer, Pass pass);

}  // namespace penstock
