#include "hardware_models/times/roofline_time.hpp"

#include <algorithm>

#include "hardware_models/links/groups.hpp"

namespace penstock {
RooflineTimes::RooflineTimes(const HardwareSpec& spec)
    : machine_(*spec.machine),
      kernels_(machine_.device, spec.precision),
      tensor_(spec.tensor),
      context_(spec.context),
      expert_(spec.expert),
      devices_(spec.ranks * spec.devices_per_rank),
      collectives_(spec.collectives) {}

double RooflineTimes::pass_us(const Layer& layer, Pass pass) const {
  switch (pass) {
    case Pass::backward:
      return single_pass_us(layer, Pass::backward_input, false) +
             single_pass_us(layer, Pass::backward_weight, false);
    case Pass::recompute:
      return single_pass_us(layer, Pass::forward, layer.work.recomputes_selected);
    default:
      return single_pass_us(layer, pass, false);
  }
}

double RooflineTimes::single_pass_us(const Layer& layer, Pass pass, bool selected_only) const {
  const auto runs = [&](const auto& work) {
    return work.pass == pass && (work.selective || !selected_only);
  };
  double kernels_us = 0, kernels = 0, collectives_us = 0;
  for (const Kernel& kernel : layer.work.kernels) {
    if (!runs(kernel)) continue;
    kernels_us += kernel.count * kernels_.us(kernel);
    kernels += kernel.count;
  }
  for (const Collective& collective : layer.work.collectives) {
    if (runs(collective)) collectives_us += collective.count * group_us(collective);
  }
  return std::max(kernels_us, kernels * machine_.device.kernel_issue_us) + collectives_us;
}

/// Tensor groups are innermost; a context group has one device of each tensor group, an expert
/// group one of each context group.
double RooflineTimes::group_us(const Collective& collective) const {
  std::uint64_t devices = tensor_;
  std::uint64_t stride = 1;
  if (collective.group != Group::tensor) {
    devices = context_;
    stride = tensor_;
  }
  if (collective.group == Group::expert) {
    devices = expert_;
    stride = tensor_ * context_;
  }
  if (devices == 1) return 0;
  const Members members = members_of(machine_, {devices, stride, devices_});
  const CollectiveCall call{collective.kind, collective.bytes, members,
                            reach_of(machine_, members.per_machine)};
  return collective_us(call, collectives_);
}

}  // namespace penstock
