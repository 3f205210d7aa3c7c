#pragma once

#include <cstdint>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/spec/hardware_spec.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// Whether devices of a machine have links to each other, not to a switch.
bool has_direct_links(const Machine& machine);

/// A group of devices, and the groups like it.
struct GroupPlace {
  std::uint64_t devices = 1;  // in the group
  std::uint64_t stride = 1;   // between consecutive devices of the group
  std::uint64_t all = 1;      // in all groups
};

/// How the devices of a group lie in machines. Of groups that lie differently, the one in most
/// machines, and with fewest devices in one of them. Checks the first few thousand devices, after
/// which the pattern repeats.
Members members_of(const Machine& machine, const GroupPlace& group);

/// Devices `stride` apart from each other.
struct DeviceRow {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
  std::uint64_t count = 1;
};

/// The replicas of the weights on the first device of each rank. They share the devices of a rank
/// and its data replicas out evenly.
class HolderPlaces {
 public:
  HolderPlaces(const HardwareSpec& spec, const Holders& holders);

  std::uint64_t count() const { return of_rank_ * holders_.ranks.size(); }
  /// Their devices in order, at most the first `most`.
  std::vector<DeviceRow> rows(std::uint64_t most) const;

 private:
  const HardwareSpec& spec_;
  const Holders& holders_;
  std::uint64_t of_rank_;
};

/// How holders lie in machines. Checks the first few thousand, after which the pattern repeats.
Members members_of(const Machine& machine, const HolderPlaces& places);

/// The speed of a device to others of its group: inside its machine when `per_machine` is larger
/// than one, and through its NIC; the other one when the machine lacks one kind. Directly connected
/// devices (no switch) use the links to their group. Throws InputError without links.
Reach reach_of(const Machine& machine, std::uint64_t per_machine);

/// The same for the members of a group; in machines that hold different numbers of them the
/// smallest limits the others.
Reach reach_of(const Machine& machine, const Members& members);

}  // namespace penstock
