#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware_models/spec/model_spec.hpp"
#include "hardware_models/spec/parameters.hpp"
#include "validate/store/profile_row.hpp"

namespace penstock {

/// A pass of a kind of layer, as a point that is measured. Its shape has the layer's numbers, and
/// how much of it there is: "examples", with "sequence" where examples are sequences of tokens, or
/// "tokens" where it does not matter how these are shared out.
struct LayerPoint {
  std::string kind;      // of layer: "mlp"
  std::string pass;      // "forward", "backward", "backward_input", "backward_weight"
  NamedNumbers numbers;  // of the layer: "hidden", "intermediate"
  double amount = 1;     // examples, or tokens
  bool counts_tokens = false;
  std::optional<double> sequence;  // tokens of an example
  std::string condition = "solo";
};

/// What such a layer runs for by itself, in doubles.
CellShape cell_shape(const LayerPoint& layer);

KernelPoint kernel_point(const LayerPoint& layer);
/// Nothing for a point that is no pass of a layer of some size.
std::optional<LayerPoint> layer_point(const KernelPoint& point);

/// "k=64 m=32 n=128": the sizes of a shape, by name in order.
std::string shape_text(const NamedNumbers& numbers);
/// The same read; nothing for a text that is not made of numbers with names.
std::optional<NamedNumbers> shape_numbers(std::string_view shape);

}  // namespace penstock
