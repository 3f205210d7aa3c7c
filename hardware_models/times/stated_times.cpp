#include "hardware_models/times/stated_times.hpp"

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A fused backward may be cheaper than its parts: their sum is the fallback.
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

bool states_times(const Layer& layer) {
  return layer.forward_us || layer.backward_us || layer.backward_input_us ||
         layer.backward_weight_us;
}

bool states_work_only(const Layer& layer) {
  const bool has_work =
      !layer.key.kind.empty() || !layer.work.kernels.empty() || !layer.work.collectives.empty();
  return has_work && !states_times(layer);
}

std::optional<double> StatedHardware::compute_us(const Layer& layer, Pass pass) const {
  if (!states_work_only(layer)) return stated_us(layer, pass);
  throw InputError(layer.source,
                   "this layer states its work but no times; set /hardware/name to one of penstock "
                   "list hardware");
}

}  // namespace penstock
