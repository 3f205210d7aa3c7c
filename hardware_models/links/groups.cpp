#include "hardware_models/links/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

bool lie_inside_machines(const Machine& machine, const GroupPlace& group) {
  // The pattern repeats after a multiple of the machine's devices.
  const std::uint64_t span = group.devices * group.stride;
  for (std::uint64_t first = 0; first < group.all; first += span) {
    if (first % machine.devices + span > machine.devices) return false;
    if ((first + span) % machine.devices == 0) break;
  }
  return true;
}

bool has_direct_links(const Machine& machine) {
  if (!machine.topology) return false;
  const TopologyEntry* kind = find_named(topology_entries(), machine.topology->kind);
  return kind != nullptr && kind->direct;
}

/// The speed of a device to others of its group in the same machine.
std::optional<Speed> speed_in_group(const Machine& machine, std::uint64_t devices) {
  auto speed = speed_inside(machine);
  if (!speed || !has_direct_links(machine)) return speed;
  const double links = std::min(machine.links, std::max(1.0, static_cast<double>(devices) - 1));
  speed->bandwidth_bytes_per_s *= links / machine.links;
  return speed;
}

/// The greatest common divisor of the holders per machine.
std::uint64_t evenly_in(const Machine& machine, const HolderPlaces& places) {
  constexpr std::uint64_t most = std::uint64_t{1} << 14;
  const std::uint64_t looked_at = std::min(places.count(), most);
  std::uint64_t common = 0, together = 0;
  for (std::uint64_t number = 0; number < looked_at; ++number) {
    const std::uint64_t here = places.device(number) / machine.devices;
    if (number > 0 && here != places.device(number - 1) / machine.devices) {
      common = std::gcd(common, std::exchange(together, 0));
      if (common == 1) return 1;
    }
    ++together;
  }
  if (looked_at == places.count()) return std::gcd(common, together);
  const auto machine_of = [&](std::uint64_t number) {
    return places.device(number) / machine.devices;
  };
  if (common == 0 && machine_of(0) == machine_of(places.count() - 1)) return places.count();
  return std::gcd(places.count(), common == 0 ? together : common);
}

}  // namespace

Members members_of(const Machine& machine, const GroupPlace& group) {
  const std::uint64_t span = group.devices * group.stride;
  if (lie_inside_machines(machine, group)) return {group.devices, group.devices};
  if (machine.devices % group.stride != 0 || span % machine.devices != 0) return {group.devices, 1};
  return {group.devices, machine.devices / group.stride};
}

Reach reach_of(const Machine& machine, std::uint64_t per_machine) {
  const auto inside = speed_in_group(machine, per_machine), outside = speed_outside(machine);
  if (inside || outside) {
    return {inside ? *inside : *outside, outside ? *outside : *inside, machine.collective_us};
  }
  throw InputError("/hardware/link",
                   fmt::format("tensor, context and expert parallelism need links between "
                               "devices, but {} has none; name one of penstock list hardware",
                               machine.name));
}

HolderPlaces::HolderPlaces(const HardwareSpec& spec, const Holders& holders)
    : spec_(spec),
      holders_(holders),
      copies_(static_cast<std::uint64_t>(std::llround(holders.copies))),
      data_(static_cast<std::uint64_t>(std::llround(holders.data))) {}

/// Within a group, neighbours are replicas, except in tensor groups.
std::uint64_t HolderPlaces::device(std::uint64_t number) const {
  const std::uint64_t group = spec_.tensor * spec_.context * spec_.expert;
  const Rank rank = holders_.ranks[number / (copies_ * data_)];
  const std::uint64_t replica = number / copies_ % data_;
  return index(rank) * spec_.devices_per_rank + replica * group + number % copies_ * spec_.tensor;
}

Members members_of(const Machine& machine, const HolderPlaces& places) {
  if (machine.devices == 1) return {places.count(), 1};
  return {places.count(), evenly_in(machine, places)};
}

}  // namespace penstock
