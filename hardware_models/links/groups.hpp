#pragma once

#include <cstdint>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/spec/hardware_spec.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// A group of devices, and those like it.
struct GroupPlace {
  std::uint64_t devices = 1;  // of the group
  std::uint64_t stride = 1;   // from one of its devices to the next
  std::uint64_t all = 1;      // devices of all groups
};

/// How the devices of a group lie in machines: in one where each of the groups is in one, equally
/// many in each of several, or, where groups and machines do not fit, as if in one each.
Members members_of(const Machine& machine, const GroupPlace& group);

/// On which devices the same weights lie as on the first one of each rank that holds them.
class HolderPlaces {
 public:
  HolderPlaces(const HardwareSpec& spec, const Holders& holders);

  std::uint64_t count() const { return copies_ * data_ * holders_.ranks.size(); }
  /// Number 0 is the lowest device.
  std::uint64_t device(std::uint64_t number) const;

 private:
  const HardwareSpec& spec_;
  const Holders& holders_;
  std::uint64_t copies_;
  std::uint64_t data_;
};

/// How holders lie in machines: where some have more of them than others, those count as several
/// machines. Looks at the first few thousand, after which it all begins anew.
Members members_of(const Machine& machine, const HolderPlaces& places);

/// What a device has to reach the others of its group: inside its machine, where there are so many,
/// and through its NIC; the other where it lacks one sort. Devices that are joined to each other
/// and not to a switch use the links to the others of their group. Throws InputError where there
/// are none.
Reach reach_of(const Machine& machine, std::uint64_t per_machine);

}  // namespace penstock
