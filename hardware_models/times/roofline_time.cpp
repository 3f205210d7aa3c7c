#include "hardware_models/times/roofline_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware_models/links/groups.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

double matrix_peak(const Device& device, const std::string& precision) {
  if (const auto found = runs_in(device, precision)) return device.peak_flops.find(*found)->second;
  throw InputError("/hardware", fmt::format("{} has no peak for {} or a wider precision; "
                                            "add one to /peak_flops in its file",
                                            device.name, precision));
}

/// The peak of vector units, when a device has one.
double vector_peak(const Device& device, double otherwise) {
  const auto found = device.peak_flops.find("fp32");
  return found == device.peak_flops.end() ? otherwise : found->second;
}

/// The filled share of the tiles of a matrix product.
double filled_tiles(const Kernel& kernel, double tile) {
  if (kernel.rows <= 0 || kernel.columns <= 0) return 1;
  const auto filled = [&](double size) { return size / (std::ceil(size / tile) * tile); };
  return filled(kernel.rows) * filled(kernel.columns);
}

/// Matrix units load 16 bytes at a time: eight 2-byte values.
bool is_aligned(const Kernel& kernel) {
  constexpr double together = 8;
  return std::fmod(kernel.rows, together) == 0 && std::fmod(kernel.columns, together) == 0 &&
         std::fmod(kernel.inner, together) == 0;
}

}  // namespace

RooflineTimes::RooflineTimes(const HardwareSpec& spec)
    : machine_(*spec.machine),
      matrix_flops_(matrix_peak(machine_.device, spec.precision)),
      vector_flops_(vector_peak(machine_.device, matrix_flops_)),
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
    kernels_us += kernel.count * kernel_us(kernel);
    kernels += kernel.count;
  }
  for (const Collective& collective : layer.work.collectives) {
    if (runs(collective)) collectives_us += collective.count * group_us(collective);
  }
  return std::max(kernels_us, kernels * machine_.device.kernel_issue_us) + collectives_us;
}

double RooflineTimes::kernel_us(const Kernel& kernel) const {
  const Device& device = machine_.device;
  double flops_per_s = vector_flops_;
  if (kernel.kind == KernelKind::matrix) {
    flops_per_s = matrix_flops_ * efficiency_at(device.matrix_efficiency, kernel.flops * 1e-9) *
                  filled_tiles(kernel, device.tile) *
                  (is_aligned(kernel) ? 1 : device.unaligned_efficiency);
  }
  const double bytes_per_s = device.memory_bandwidth_bytes_per_s *
                             efficiency_at(device.memory_efficiency, kernel.bytes * 1e-6);
  const double work_s = std::max(kernel.flops / flops_per_s, kernel.bytes / bytes_per_s);
  return work_s * 1e6 + device.kernel_us;
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
