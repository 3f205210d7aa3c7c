#include "hardware_models/stated_times.hpp"

namespace penstock {
namespace {

/// A fused backward may be cheaper than its parts, so it is the sum only where none is stated.
std::optional<double> backward_us(const Layer& layer) {
  if (layer.backward_us) return layer.backward_us;
  if (!layer.backward_input_us || !layer.backward_weight_us) return std::nullopt;
  return *layer.backward_input_us + *layer.backward_weight_us;
}

}  // namespace

std::optional<double> stated_us(const Layer& layer, Pass pass) {
  switch (pass) {
    case Pass::forward:
      return layer.forward_us;
    case Pass::backward:
      return backward_us(layer);
    case Pass::backward_input:
      return layer.backward_input_us;
    case Pass::backward_weight:
      return layer.backward_weight_us;
    case Pass::recompute:
      return layer.recompute_us;
    default:
      return std::nullopt;
  }
}

}  // namespace penstock
