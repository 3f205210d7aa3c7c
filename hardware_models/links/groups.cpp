#include "hardware_models/links/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "hardware_models/spec/seating.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t most_looked_at = std::uint64_t{1} << 14;

bool fills_evenly(const Machine& machine, std::uint64_t span) {
  return !machine.seating ||
         (machine.seating->most % span == 0 && machine.seating->fewer % span == 0);
}

/// Counts the devices of a group by machine, as they come in order.
template <class DeviceOf>
Members counted_in(const Machine& machine, std::uint64_t count, DeviceOf device_of) {
  const std::uint64_t looked_at = std::min(count, most_looked_at);
  std::uint64_t machines = 0, most = 0, least = looked_at, here = 0, before = 0;
  const auto close = [&] {
    ++machines;
    most = std::max(most, here);
    least = std::min(least, here);
  };
  for (std::uint64_t number = 0; number < looked_at; ++number) {
    const std::uint64_t now = machine_with(machine, device_of(number));
    if (number > 0 && now != before) {
      close();
      here = 0;
    }
    before = now;
    ++here;
  }
  if (machines == 0 || looked_at == count || here > least) close();  // the last one may be cut off
  if (looked_at < count) machines = (count * machines + looked_at - 1) / looked_at;
  if (machines == 1) return {count, looked_at < count ? machine.devices : count};
  return {count, most, machines, least};
}

/// Whether a group lies in more machines than another, or has fewer devices in one.
bool lies_worse(const Members& one, const Members& other) {
  return one.machines() != other.machines() ? one.machines() > other.machines()
                                            : one.fewest() < other.fewest();
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

}  // namespace

Members members_of(const Machine& machine, const GroupPlace& group) {
  const std::uint64_t span = group.devices * group.stride;
  if (machine.devices == 1) return {group.devices, 1};
  if (machine.devices % span == 0 && fills_evenly(machine, span)) {
    return {group.devices, group.devices};
  }
  std::optional<Members> worst;
  for (std::uint64_t first = 0; first < group.all; first += span) {
    for (const std::uint64_t begin : {first, first + group.stride - 1}) {
      const Members here = counted_in(machine, group.devices, [&](std::uint64_t number) {
        return begin + number * group.stride;
      });
      if (!worst || lies_worse(here, *worst)) worst = here;
    }
    const bool repeats = !machine.seating && (first + span) % machine.devices == 0;
    if (repeats || first > most_looked_at) break;
  }
  return *worst;
}

Reach reach_of(const Machine& machine, std::uint64_t per_machine) {
  const auto inside = speed_in_group(machine, per_machine), outside = speed_outside(machine);
  if (inside || outside) {
    return {inside ? *inside : *outside, outside ? *outside : *inside, machine.collective_us,
            machine.in_network};
  }
  throw InputError("/hardware/link",
                   fmt::format("tensor, context and expert parallelism need links between "
                               "devices, but {} has none; name one of penstock list hardware",
                               machine.name));
}

Reach reach_of(const Machine& machine, const Members& members) {
  return reach_of(machine, members.fewest() > 1 ? members.fewest() : members.per_machine);
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
  return counted_in(machine, places.count(),
                    [&](std::uint64_t number) { return places.device(number); });
}

}  // namespace penstock
