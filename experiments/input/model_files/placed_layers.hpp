#pragma once

#include <vector>

#include "experiments/input/model_files/model_file.hpp"

namespace penstock {

/// The stages of one file as layers of a model from another file. If the model has ids, unknown ids
/// are skipped: they are backward nodes, which belong to layers. Throws InputError for a layer in
/// no stage and for a stage without layers.
std::vector<std::vector<LayerIndex>> placed_layers(const ModelFile& cut, const ModelFile& model);

}  // namespace penstock
