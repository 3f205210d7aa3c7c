#pragma once

#include <optional>

#include "sim/model_graph.hpp"
#include "sim/schedule.hpp"

namespace penstock {

/// How long a pass over a layer takes by what the layer itself states, in microseconds; nothing
/// where it does not say.
std::optional<double> stated_us(const Layer& layer, Pass pass);

}  // namespace penstock
