#pragma once

#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// A convolution of images, optionally with ReLU before and batch norm after it. Edges are padded:
/// a stride of n keeps every n-th pixel, starting with the first.
struct Convolution {
  double examples = 1;
  double channels_in = 1;
  double channels_out = 1;
  double height = 1;  // of the input
  double width = 1;
  double kernel_height = 1;
  double kernel_width = 1;
  double stride = 1;
  double groups = 1;
  bool relu = false;
  bool batch_norm = false;
  bool bias = false;
  /// Each example has its own weights, computed elsewhere. Their gradients are needed beyond W, so
  /// I computes both gradients.
  bool weights_by_example = false;

  double weights() const;
  double numbers_in() const;  // over all examples
  double numbers_out() const;
};

/// The length of an image side after a stride.
double strided(double side, double stride);

/// The examples of a cell. Throws InputError under context parallelism: images have no sequence.
double images_of(const CellShape& shape);

/// Adds parameters, FLOPs, kernels and kept bytes (inputs of convolution and norm). A tensor group
/// shards the output channels and gathers them.
void add_convolution(LayerWork& work, const Convolution& convolution, const CellShape& shape);

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
