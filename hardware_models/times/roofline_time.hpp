#pragma once

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/spec/hardware_spec.hpp"

namespace penstock {

/// How long layers take that are known by their work, on the device of a machine. A kernel is bound
/// by arithmetic or by memory, a pass by its kernels or by the host that issues them; collectives
/// come after the kernels and hide nothing.
class RooflineTimes {
 public:
  /// The spec must have a machine. Throws InputError when its device has no peak for the precision.
  explicit RooflineTimes(const HardwareSpec& spec);

  /// In microseconds. B is I and W; recomputation is F, or the kernels of F that are selected.
  /// Throws InputError when a collective has no link to go over.
  double pass_us(const Layer& layer, Pass pass) const;

  /// Of matrix products, dense, a second, in the precision that they run in.
  double peak_flops() const { return matrix_flops_; }

 private:
  double single_pass_us(const Layer& layer, Pass pass, bool selected_only) const;
  double kernel_us(const Kernel& kernel) const;
  double group_us(const Collective& collective) const;

  Machine machine_;
  double matrix_flops_;
  double vector_flops_;
  std::uint64_t tensor_;
  std::uint64_t context_;
  std::uint64_t expert_;
  std::uint64_t devices_;  // of all ranks
  CollectiveChoice collectives_;
};

}  // namespace penstock
