#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/input/formats/transformers/hf_architectures.hpp"
#include "experiments/input/formats/transformers/hf_fields.hpp"
#include "experiments/input/formats/transformers/transformer_shape.hpp"
#include "experiments/input/model_files/model_file.hpp"

namespace penstock {

/// The layers that a config writes one by one, as hybrid_override_pattern or layers_block_type;
/// nothing where it has neither.
std::optional<std::string> hf_layer_pattern(const HfFields& config);

/// Which layers have attention, Gated DeltaNet or Mamba-2, and the sizes of the latter. With
/// MixerRule::pattern also which have an MLP, or experts where the shape has them. The shape knows
/// its layers and experts.
void read_hf_mixers(const HfFields& config, MixerRule rule, TransformerShape& shape);

/// Sizes of an indexer that chooses keys, if the config states any, and the layers that have one.
void read_hf_indexer(const HfFields& config, TransformerShape& shape);

/// The encoder in a config's vision_config, as its architecture has it. `tokens`: those of the
/// decoder that the images of an example become; by default those of one image. Nothing where there
/// is no vision_config, or the architecture's is not read.
std::optional<VisionShape> read_hf_vision(const HfFields& config, VisionRule rule, double hidden,
                                          std::optional<double> tokens);

/// What a config says of positions and norms that no step time depends on.
ModelDetails hf_details(const nlohmann::json& config);

}  // namespace penstock
