#pragma once

#include <array>

#include "hardware_models/layers/building/convolution.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

// The numbers that kinds of convolution share.
inline constexpr std::array convolution_parameters{
    Parameter{"channels_in", "of each image that comes in", std::nullopt},
    Parameter{"channels_out", "of each image that goes on", std::nullopt},
    Parameter{"height", "of each image that comes in", std::nullopt},
    Parameter{"width", "of each image that comes in", std::nullopt},
    Parameter{"kernel", "side of the kernel", 1},
    Parameter{"stride", "places from one product to the next", 1},
    Parameter{"groups", "of channels that do not mix", 1},
    flag("bias", "1: each channel that goes on has a bias", 0),
    flag("relu", "1: a ReLU stands in front", 0),
    flag("batch_norm", "1: a batch norm stands behind", 0)};

/// The convolution that these numbers describe. Throws InputError where groups or devices do not
/// divide the channels.
Convolution convolution_of(const LayerNumbers& numbers, const CellShape& shape);

}  // namespace penstock
