#include "hardware_models/times/roofline_time.hpp"

#include <algorithm>

#include "hardware_models/links/groups.hpp"

namespace penstock {
namespace {

/// Whether a kernel or collective runs in a pass.
template <class Work>
bool runs(const Work& work, Pass pass, bool selected_only) {
  return work.pass == pass && (work.selective || !selected_only);
}

}  // namespace

RooflineTimes::RooflineTimes(const HardwareSpec& spec)
    : machine_(*spec.machine),
      kernels_(machine_.device, spec.precision),
      tensor_(spec.tensor),
      context_(spec.context),
      expert_(spec.expert),
      devices_(spec.ranks * spec.devices_per_rank),
      collectives_(spec.collectives),
      overlaps_experts_(spec.overlaps_experts) {}

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

DeviceUse RooflineTimes::use(const Layer& layer, Pass pass) const {
  if (pass == Pass::recompute) {
    return single_pass_use(layer, Pass::forward, layer.work.recomputes_selected);
  }
  if (pass != Pass::backward) return single_pass_use(layer, pass, false);
  DeviceUse both = single_pass_use(layer, Pass::backward_input, false);
  both += single_pass_use(layer, Pass::backward_weight, false);
  return both;
}

double RooflineTimes::single_pass_us(const Layer& layer, Pass pass, bool selected_only) const {
  double kernels_us = 0, kernels = 0;
  for (const Kernel& kernel : layer.work.kernels) {
    if (!runs(kernel, pass, selected_only)) continue;
    kernels_us += kernel.count * kernels_.us(kernel);
    kernels += kernel.count;
  }
  kernels_us = std::max(kernels_us, kernels * machine_.device.kernel_issue_us);
  return kernels_us + collectives_us(layer, pass, selected_only, kernels_us);
}

/// The time that collectives add to the kernels of a pass.
double RooflineTimes::collectives_us(const Layer& layer, Pass pass, bool selected_only,
                                     double kernels_us) const {
  double exposed_us = 0, experts_us = 0;
  for (const Collective& collective : layer.work.collectives) {
    if (!runs(collective, pass, selected_only)) continue;
    const bool exchange = collective.kind == CollectiveKind::all_to_all;
    (exchange ? experts_us : exposed_us) += collective.count * group_us(collective);
  }
  if (overlaps_experts_) experts_us = std::max(0.0, experts_us - kernels_us);
  return exposed_us + experts_us;
}

DeviceUse RooflineTimes::single_pass_use(const Layer& layer, Pass pass, bool selected_only) const {
  DeviceUse use;
  for (const Kernel& kernel : layer.work.kernels) {
    if (!runs(kernel, pass, selected_only)) continue;
    const bool matrix = kernel.kind != KernelKind::vector;
    (matrix ? use.compute_us : use.memory_us) += kernel.count * kernels_.us(kernel);
  }
  use.network_us = collectives_us(layer, pass, selected_only, 0);
  return use;
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
                            reach_of(machine_, members)};
  return collective_us(call, collectives_);
}

}  // namespace penstock
