#pragma once

#include "experiments/run/layout/layout.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// What a GPU runs for the layers of a model: its transformer layers, in their sizes. Embeddings,
/// heads and norms between layers are left out. Throws UsageError for models that have other
/// layers, or these in several sizes, and for stages without any.
DeviceOptions with_layers_of(const Layout& layout, DeviceOptions device);

}  // namespace penstock
