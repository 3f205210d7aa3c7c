#pragma once

#include "hardware_models/registry.hpp"

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
};

/// A group of devices, and those like it.
struct GroupPlace {
  std::uint64_t devices = 1;  // of the group
  std::uint64_t span = 1;     // from its first device to that of the next group
  std::uint64_t all = 1;      // devices of all groups
};

/// The link over which the devices of a group talk: inside a machine where each of the groups is in
/// one, else through the NICs. Where devices are joined to each other and not to a switch, each
/// uses the links to the others of its group. Throws InputError where there is no link.
Speed link_of_group(const Machine& machine, const GroupPlace& group);

}  // namespace penstock
