#pragma once

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/spec/hardware_spec.hpp"
#include "hardware_models/times/kernel_times.hpp"

namespace penstock {

/// Times of layers given by their work, on the device of a machine. A kernel is bound by arithmetic
/// or memory, a pass by its kernels or by host launches; collectives follow the kernels, except
/// all-to-alls of experts where the spec says that they overlap.
class RooflineTimes {
 public:
  /// The spec must have a machine. Throws InputError when its device has no peak for the precision.
  explicit RooflineTimes(const HardwareSpec& spec);

  /// Microseconds. B is I plus W; recomputation is F, or the selected kernels of F. Throws
  /// InputError when a collective has no link.
  double pass_us(const Layer& layer, Pass pass) const;

  /// What the time of a pass consists of; kernels other than matrix products occupy the memory.
  DeviceUse use(const Layer& layer, Pass pass) const;

  /// Peak of dense matrix products per second, in the precision they run in.
  double peak_flops() const { return kernels_.peak_flops(); }

 private:
  double single_pass_us(const Layer& layer, Pass pass, bool selected_only) const;
  double collectives_us(const Layer& layer, Pass pass, bool selected_only, double kernels_us) const;
  DeviceUse single_pass_use(const Layer& layer, Pass pass, bool selected_only) const;
  double group_us(const Collective& collective) const;

  Machine machine_;
  KernelTimes kernels_;
  std::uint64_t tensor_;
  std::uint64_t context_;
  std::uint64_t expert_;
  std::uint64_t devices_;  // over all ranks
  CollectiveChoice collectives_;
  bool overlaps_experts_;
};

}  // namespace penstock
