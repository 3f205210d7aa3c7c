#include "hardware_models/registry.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

/// Devices on which every layer takes the time that the model states for it, and links that are
/// either a pure delay or a latency with a bandwidth.
class Ideal final : public HardwareModel {
 public:
  explicit Ideal(const HardwareSpec& spec) : spec_(spec) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
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

  TransferTime transfer(double bytes, Rank /*from*/, Rank /*to*/) const override {
    const double latency_us = spec_.latency_us.value_or(spec_.transfer_us);
    if (!spec_.bandwidth_bytes_per_s) return {0, latency_us};
    return {bytes / *spec_.bandwidth_bytes_per_s * 1e6, latency_us};
  }

 private:
  /// A fused backward may be cheaper than its parts, so it is the sum only where none is stated.
  static std::optional<double> backward_us(const Layer& layer) {
    if (layer.backward_us) return layer.backward_us;
    if (!layer.backward_input_us || !layer.backward_weight_us) return std::nullopt;
    return *layer.backward_input_us + *layer.backward_weight_us;
  }

  HardwareSpec spec_;
};

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  if (spec.transfer_us != 0 && (spec.latency_us || spec.bandwidth_bytes_per_s)) {
    throw InputError("/hardware",
                     "transfer_us stands beside latency_us or bandwidth_bytes_per_s; "
                     "give a pure delay, or a latency with a bandwidth");
  }
  return std::make_unique<Ideal>(spec);
}

}  // namespace

constinit extern const CostModelEntry ideal_entry{
    "ideal", "every layer takes the time the model states; links with a delay, or a bandwidth",
    make};

}  // namespace penstock
