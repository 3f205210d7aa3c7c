#include "hardware_models/links/link_costs.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/roofline_time.hpp"
#include "hardware_models/times/stated_times.hpp"
#include "sim/base/error.hpp"

namespace penstock::roofline_file {
namespace {

/// Devices on which kernels are bound by arithmetic or memory; a layer that states times takes
/// these.
class Roofline final : public LinkedHardware {
 public:
  Roofline(LinkCosts links, const HardwareSpec& spec)
      : LinkedHardware(std::move(links), spec), times_(spec) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    return states_work_only(layer) ? times_.pass_us(layer, pass) : stated_us(layer, pass);
  }
  bool looks_at_names() const override { return false; }
  std::optional<DeviceUse> use(const Layer& layer, Pass pass) const override {
    if (!states_work_only(layer)) return std::nullopt;
    return times_.use(layer, pass);
  }
  std::optional<double> peak_flops() const override { return times_.peak_flops(); }

 private:
  RooflineTimes times_;
};

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  if (!spec.machine) {
    throw InputError("/hardware/device",
                     "\"device\" is missing: roofline needs one of penstock list hardware");
  }
  return std::make_unique<Roofline>(LinkCosts::links(spec, "roofline"), spec);
}

}  // namespace

constinit extern const CostModelEntry roofline_entry{
    "roofline", "kernels bound by arithmetic or memory of a catalogue device; any links", make};

}  // namespace penstock::roofline_file
