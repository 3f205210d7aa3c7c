#pragma once

#include <memory>

#include "experiments/run/simulation.hpp"
#include "hardware_models/links/wiring.hpp"
#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// The hardware of a layout, with the links of its machine laid once for all layouts: the same
/// times as those of its cost model. Equal layers are priced once. The clusters and the layout must
/// outlive it. Throws InputError for what the cost model refuses.
std::shared_ptr<const HardwareModel> hardware_over(Clusters& clusters, const Layout& layout);

}  // namespace penstock
