#include "hardware_models/registry.hpp"
#include "hardware_models/times/stated_times.hpp"

namespace penstock::ideal_file {
namespace {

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  return std::make_unique<StatedHardware>(LinkCosts::private_links(spec, "ideal"));
}

}  // namespace

constinit extern const CostModelEntry ideal_entry{
    "ideal", "layer times from the model; links with a delay, or with latency and bandwidth", make};

}  // namespace penstock::ideal_file
