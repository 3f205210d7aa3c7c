#include "hardware_models/links/link_costs.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/stated_times.hpp"

namespace penstock::ideal_file {
namespace {

/// Devices with the layer times that the model states, and links with either a pure delay or a
/// latency and a bandwidth.
class Ideal final : public LinkedHardware {
 public:
  using LinkedHardware::LinkedHardware;

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    return only_stated_us(layer, pass);
  }
};

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  return std::make_unique<Ideal>(LinkCosts::private_links(spec, "ideal"));
}

}  // namespace

constinit extern const CostModelEntry ideal_entry{
    "ideal", "layer times from the model; links with a delay, or with latency and bandwidth", make};

}  // namespace penstock::ideal_file
