#include "hardware_models/links/link_costs.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/stated_times.hpp"

namespace penstock::custom_file {
namespace {

/// Devices with the layer times that the model states, and physical links shared by several pairs
/// of ranks.
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
    "custom", "layer times from the model; shared physical links, listed or from a topology", make};

}  // namespace penstock::custom_file
