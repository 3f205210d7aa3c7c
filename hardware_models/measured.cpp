#include <fmt/format.h>

#include "hardware_models/links/link_costs.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/profile_lookup.hpp"
#include "hardware_models/times/roofline_time.hpp"
#include "hardware_models/times/stated_times.hpp"
#include "sim/base/error.hpp"

namespace penstock::measured_file {
namespace {

/// The time of a pass in a profile. Recomputation takes as long as F.
std::optional<double> profiled_us(const ProfilePoint& point, Pass pass) {
  Layer layer;
  layer.forward_us = point.forward_us;
  layer.backward_us = point.backward_us;
  layer.backward_input_us = point.backward_input_us;
  layer.backward_weight_us = point.backward_weight_us;
  return stated_us(layer, pass == Pass::recompute ? Pass::forward : pass);
}

/// Devices with layer times from a profile, found by the layer's name, its kind, or the kinds and
/// parameters of its parts. Missing layers take roofline times when a machine is given.
class Measured final : public LinkedHardware {
 public:
  Measured(LinkCosts links, const HardwareSpec& spec)
      : LinkedHardware(std::move(links), spec), profile_(*spec.profile), lookup_(profile_) {
    if (spec.machine) roofline_.emplace(spec);
  }

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    if (states_times(layer)) return stated_us(layer, pass);
    const std::vector<ProfiledPart> parts = lookup_.find(layer);
    const bool in_parts = pass == Pass::recompute && layer.work.repeated == Repeated::selected;
    if (parts.empty() || in_parts) return beyond_profile_us(layer, pass, in_parts);
    if (layer.key.examples <= 0) {
      throw InputError(
          layer.source,
          "the number of examples per cell is unknown; a profile has times by examples");
    }
    return sum_us(parts, pass);
  }
  /// Measured times are taken as arithmetic alone: a profile does not say what they leave idle.
  std::optional<DeviceUse> use(const Layer& layer, Pass pass) const override {
    if (states_times(layer)) return std::nullopt;
    const bool measured = !lookup_.find(layer).empty();
    if (!measured && roofline_ && states_work_only(layer)) return roofline_->use(layer, pass);
    return DeviceUse{.compute_us = compute_us(layer, pass).value_or(0)};
  }
  std::optional<double> peak_flops() const override {
    return roofline_ ? std::optional(roofline_->peak_flops()) : std::nullopt;
  }

 private:
  static std::optional<double> sum_us(const std::vector<ProfiledPart>& parts, Pass pass) {
    double sum = 0;
    for (const ProfiledPart& part : parts) {
      const auto us = profiled_us(at(*part.entry, part.examples), pass);
      if (!us) return std::nullopt;
      sum += *us;
    }
    return sum;
  }

  double beyond_profile_us(const Layer& layer, Pass pass, bool in_parts) const {
    if (roofline_ && states_work_only(layer)) return roofline_->pass_us(layer, pass);
    const std::string who = fmt::format(
        "layer \"{}\"{}", layer.name,
        layer.key.kind.empty() ? std::string() : fmt::format(" of kind \"{}\"", layer.key.kind));
    throw InputError(
        layer.source,
        in_parts ? fmt::format("the profile {} has no parts of {} for selective recomputation; "
                               "add a machine, or recompute everything",
                               profile_.source, who)
                 : fmt::format("the profile {} has no {}, nor its kind; measure it, or add "
                               "a machine{}",
                               profile_.source, who, unused_text(profile_)));
  }

  const Profile profile_;  // outlives the pointers of the look-up
  ProfileLookup lookup_;
  std::optional<RooflineTimes> roofline_;
};

void check_device(const HardwareSpec& spec) {
  const std::string& measured_on = spec.profile->device;
  if (measured_on.empty() || !spec.machine || spec.machine->device.name == measured_on) return;
  throw InputError("/hardware/profile",
                   fmt::format("{} was measured on \"{}\", not on \"{}\"; give a profile of this "
                               "device, or name the machine that was measured",
                               spec.profile->source, measured_on, spec.machine->device.name));
}

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  if (!spec.profile) {
    throw InputError("/hardware/profile",
                     "\"profile\" is missing: measured reads its times from this file");
  }
  check_device(spec);
  return std::make_unique<Measured>(LinkCosts::links(spec, "measured"), spec);
}

}  // namespace

constinit extern const CostModelEntry measured_entry{
    "measured", "layer times from a profile, otherwise from roofline; any links", make};

}  // namespace penstock::measured_file
