#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/parameters.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// The conditions of a measurement: nothing else runs; inside the actions of a run of 1F1B.
constexpr std::string_view solo_condition = "solo";
constexpr std::string_view in_run_condition = "insitu:1f1b";

/// A pass of a kind of layer, as a measured point. Its shape has the layer's numbers and the
/// amount: "examples", with "sequence" for sequences of tokens, or "tokens" if their division into
/// sequences does not matter.
struct LayerPoint {
  std::string kind;      // of layer: "mlp"
  std::string pass;      // "forward", "backward", "backward_input", "backward_weight"
  NamedNumbers numbers;  // of the layer: "hidden", "intermediate"
  double amount = 1;     // examples or tokens
  bool counts_tokens = false;
  std::optional<double> sequence;  // tokens per example
  std::string condition = std::string(solo_condition);
};

/// The cell that such a layer runs for alone, in doubles.
CellShape cell_shape(const LayerPoint& layer);

KernelPoint kernel_point(const LayerPoint& layer);
/// Nothing for a point that is not a pass of a layer with a valid size.
std::optional<LayerPoint> layer_point(const KernelPoint& point);

/// "k=64 m=32 n=128": the sizes of a shape, by name in order.
std::string shape_text(const NamedNumbers& numbers);
/// Reads `shape_text` back; nothing for any other text.
std::optional<NamedNumbers> shape_numbers(std::string_view shape);

/// A time at some shape.
struct ShapeTime {
  NamedNumbers shape;
  double ns = 0;
};

/// The distance of each time from the curve ln t = c + sum of a_i ln size_i through the others,
/// over their own spread (the externally studentized residual). Kernels seldom follow such a curve
/// as closely as their times repeat, so the spread is at least 1 %. Zero for all if too few points
/// are left, and for a point without which the others determine no curve.
std::vector<double> curve_residuals(std::span<const ShapeTime> times);

}  // namespace penstock
