#include "hardware_models/registry.hpp"
#include "hardware_models/times/stated_times.hpp"

namespace penstock::custom_file {
namespace {

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  return std::make_unique<StatedHardware>(LinkCosts::shared_links(spec));
}

}  // namespace

constinit extern const CostModelEntry custom_entry{
    "custom", "layer times from the model; shared physical links, listed or from a topology", make};

}  // namespace penstock::custom_file
