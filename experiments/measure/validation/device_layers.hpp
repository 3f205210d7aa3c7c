#pragma once

#include "experiments/run/layout/layout.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// What a GPU runs for the layers of a model: its transformer layers, in their sizes: a norm before
/// attention and one before the network, without biases but for shifts of norms. Embedding and head
/// with its norm are left out. Throws UsageError for models that have other layers, or these in
/// several sizes, for stages without any, and for what else a layout asks of actions.
DeviceOptions with_layers_of(const Layout& layout, DeviceOptions device);

}  // namespace penstock
