#pragma once

#include "tests/support/layers.hpp"

namespace penstock::testing {

/// AmoebaNet-D (layers, filters) for images of 224 x 224 and 1000 classes, layer by layer.
Layers amoebanet(double layers, double filters);

}  // namespace penstock::testing
