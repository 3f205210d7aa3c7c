#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "validate/profile_row.hpp"

namespace penstock {

/// Numbers of a shape, by their names.
using ShapeNumbers = std::map<std::string, double, std::less<>>;

/// A pass of a kind of layer, as a point that is measured. Its shape has the layer's numbers, and
/// how much of it there is: "examples", with "sequence" where examples are sequences of tokens, or
/// "tokens" where it does not matter how these are shared out.
struct LayerPoint {
  std::string kind;      // of layer: "mlp"
  std::string pass;      // "forward", "backward", "backward_input", "backward_weight"
  ShapeNumbers numbers;  // of the layer: "hidden", "intermediate"
  double amount = 1;     // examples, or tokens
  bool counts_tokens = false;
  std::optional<double> sequence;  // tokens of an example
  std::string condition = "solo";
};

/// "examples=2 hidden=8 sequence=64".
std::string shape_text(const ShapeNumbers& numbers);
/// Nothing for a shape that is not made of numbers with names.
std::optional<ShapeNumbers> shape_numbers(std::string_view shape);

KernelPoint kernel_point(const LayerPoint& layer);
/// Nothing for a point that is no pass of a layer of some size.
std::optional<LayerPoint> layer_point(const KernelPoint& point);

}  // namespace penstock
