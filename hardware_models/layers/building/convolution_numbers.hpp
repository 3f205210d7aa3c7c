#pragma once

#include <array>

#include "hardware_models/layers/building/convolution.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

// Parameters shared by kinds of convolution.
inline constexpr std::array convolution_parameters{
    Parameter{"channels_in", "input channels", std::nullopt},
    Parameter{"channels_out", "output channels", std::nullopt},
    Parameter{"height", "input height", std::nullopt},
    Parameter{"width", "input width", std::nullopt},
    Parameter{"kernel", "kernel size", 1},
    Parameter{"stride", "stride", 1},
    Parameter{"groups", "groups of channels", 1},
    flag("bias", "1: bias", 0),
    flag("relu", "1: ReLU before the convolution", 0),
    flag("batch_norm", "1: batch norm after the convolution", 0)};

/// The convolution with these parameters. Throws InputError when groups or devices do not divide
/// the channels.
Convolution convolution_of(const LayerNumbers& numbers, const CellShape& shape);

}  // namespace penstock
