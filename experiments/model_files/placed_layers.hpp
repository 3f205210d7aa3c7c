#pragma once

#include <vector>

#include "experiments/model_files/model_file.hpp"

namespace penstock {

/// The stages that one file names, as layers of the model that another describes. Ids that the
/// model has no layer for are left out where the model gives ids at all: they are backward nodes,
/// which are part of layers. Throws InputError for a layer in no stage and for a stage without
/// layers.
std::vector<std::vector<LayerIndex>> placed_layers(const ModelFile& cut, const ModelFile& model);

}  // namespace penstock
