#include "hardware_models/links/link_costs.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/stated_times.hpp"

namespace penstock {
namespace {

/// Devices on which every layer takes the time that the model states for it, and physical links
/// that transfers of several pairs of ranks share.
class Custom final : public LinkedHardware {
 public:
  using LinkedHardware::LinkedHardware;

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    return only_stated_us(layer, pass);
  }
};

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  return std::make_unique<Custom>(LinkCosts::shared_links(spec));
}

}  // namespace

constinit extern const CostModelEntry custom_entry{
    "custom",
    "times as the model states them; physical links that are shared: given, or a topology", make};

}  // namespace penstock
