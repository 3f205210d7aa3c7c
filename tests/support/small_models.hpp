#pragma once

#include <vector>

#include "hardware_models/spec/model_spec.hpp"
#include "tests/support/system.hpp"
#include "validate/job/job.hpp"

namespace penstock::testing {

/// Two transformer blocks between an embedding and a head: 11 layers, 8 numbers per token, 2 heads.
std::vector<LayerSpec> small_transformer();
CellShape small_transformer_shape();

/// Layers with a state and attention to chosen keys, between an embedding and a head: 12 layers.
std::vector<LayerSpec> small_hybrid();

/// An encoder of pictures before a decoder: 8 layers, 2 of 8 tokens from pictures.
std::vector<LayerSpec> small_reader_of_pictures();

/// Convolutions, plain and conditional, a pool and a classifier: 8 layers, images of 6 x 6.
std::vector<LayerSpec> small_convolution_net();

/// A convolution, a reduction cell, five normal cells and a classifier.
std::vector<LayerSpec> small_amoebanet();
CellShape small_convolution_shape();

/// Splits layers into stages of about equal count.
std::vector<std::vector<LayerSpec>> cut(const std::vector<LayerSpec>& layers, std::size_t stages);

/// A job that runs layers. Its times do not affect their results.
Job layered_job(const System& system, const std::vector<LayerSpec>& layers, const CellShape& shape);

}  // namespace penstock::testing
