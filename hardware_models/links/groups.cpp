#include "hardware_models/links/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t most_looked_at = std::uint64_t{1} << 18;

bool fills_evenly(const Machine& machine, std::uint64_t span) {
  return !machine.seating ||
         (machine.seating->most % span == 0 && machine.seating->fewer % span == 0);
}

/// Counts devices by machine, as they come in order.
class MachineTally {
 public:
  explicit MachineTally(const Machine& machine) : machine_(machine) {}

  /// `count` devices, `stride` apart from each other.
  void add(std::uint64_t device, std::uint64_t stride, std::uint64_t count) {
    while (count > 0) {
      if (device < first_ || device >= end_) move_to(device);
      const std::uint64_t more = std::min(count, (end_ - device + stride - 1) / stride);
      here_ += more;
      count -= more;
      device += more * stride;
    }
  }

  /// How `count` devices lie whose first `looked_at` were added.
  Members members(std::uint64_t count, std::uint64_t looked_at) {
    if (machines_ == 0 || looked_at == count) close();
    if (looked_at < count) {  // the last machine may be cut off: the closed ones stand for all
      const std::uint64_t closed = looked_at - here_;
      machines_ = (count * machines_ + closed - 1) / closed;
      least_ = std::min(least_, count / machines_);
    }
    if (machines_ == 1) return {count, count};
    return {count, most_, machines_, least_};
  }

 private:
  void close() {
    ++machines_;
    most_ = std::max(most_, here_);
    least_ = std::min(least_, here_);
    here_ = 0;
  }
  void move_to(std::uint64_t device) {
    if (here_ > 0) close();
    const SeatedDevices together = seated_with(machine_, device);
    first_ = together.first;
    end_ = together.end;
  }

  const Machine& machine_;
  std::uint64_t first_ = 0, end_ = 0;  // devices of the machine of the last one
  std::uint64_t machines_ = 0, most_ = 0, least_ = UINT64_MAX, here_ = 0;
};

/// Whether a group lies in more machines than another, or has fewer devices in one.
bool lies_worse(const Members& one, const Members& other) {
  return one.machines() != other.machines() ? one.machines() > other.machines()
                                            : one.fewest() < other.fewest();
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

bool has_direct_links(const Machine& machine) {
  if (!machine.topology) return false;
  const TopologyEntry* kind = find_named(topology_entries(), machine.topology->kind);
  return kind != nullptr && kind->direct;
}

Members members_of(const Machine& machine, const GroupPlace& group) {
  if (group.devices == 1) return {1, 1};
  const std::uint64_t span = group.devices * group.stride;
  if (machine.devices == 1) return {group.devices, 1};
  if (machine.devices % span == 0 && fills_evenly(machine, span)) {
    return {group.devices, group.devices};
  }
  std::optional<Members> worst;
  for (std::uint64_t first = 0; first < group.all; first += span) {
    for (const std::uint64_t begin : {first, first + group.stride - 1}) {
      const std::uint64_t looked_at = std::min(group.devices, most_looked_at);
      MachineTally tally(machine);
      tally.add(begin, group.stride, looked_at);
      const Members here = tally.members(group.devices, looked_at);
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
      of_rank_(static_cast<std::uint64_t>(std::llround(holders.copies * holders.data))) {}

std::vector<DeviceRow> HolderPlaces::rows(std::uint64_t most) const {
  std::vector<DeviceRow> all;
  for (std::uint64_t number = 0; number < std::min(count(), most); number += of_rank_) {
    const RankDevices devices = spec_.devices_of(holders_.ranks[number / of_rank_]);
    const auto parts = static_cast<std::uint64_t>(std::llround(holders_.parts));
    const std::uint64_t stride = std::max<std::uint64_t>(devices.count / (of_rank_ * parts), 1);
    all.push_back({devices.first, holders_.strided ? stride * parts : stride,
                   std::min(of_rank_, most - number)});
  }
  return all;
}

Members members_of(const Machine& machine, const HolderPlaces& places) {
  if (machine.devices == 1) return {places.count(), 1};
  MachineTally tally(machine);
  for (const DeviceRow& row : places.rows(most_looked_at)) {
    tally.add(row.first, row.stride, row.count);
  }
  return tally.members(places.count(), std::min(places.count(), most_looked_at));
}

}  // namespace penstock
