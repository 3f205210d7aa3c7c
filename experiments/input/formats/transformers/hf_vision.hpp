#pragma once

#include <optional>

#include "experiments/input/formats/transformers/hf_architectures.hpp"
#include "experiments/input/formats/transformers/hf_fields.hpp"
#include "experiments/input/formats/transformers/vision_shape.hpp"

namespace penstock {

/// The encoder in a config's vision_config, as its architecture has it. `tokens`: those of the
/// decoder that the images of an example become; by default those of one image. Nothing where there
/// is no vision_config, or the architecture's is not read.
std::optional<VisionShape> read_hf_vision(const HfFields& config, VisionRule rule, double hidden,
                                          std::optional<double> tokens);

}  // namespace penstock
