#include "hardware_models/spec/seating.hpp"

#include <fmt/format.h>

#include "hardware_models/topologies/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// Equal numbers in a sum, one by one where they are few.
std::string repeated(std::uint64_t times, std::uint64_t number) {
  constexpr std::uint64_t few = 4;
  if (times > few) return fmt::format("{} × {}", times, number);
  std::string text = fmt::format("{}", number);
  for (std::uint64_t i = 1; i < times; ++i) text += fmt::format(" + {}", number);
  return text;
}

bool joins_others(const Machine& machine) {
  if (!machine.topology || !machine.nic) return false;
  const TopologyEntry* kind = find_named(topology_entries(), machine.topology->kind);
  return kind != nullptr && !kind->one_machine;
}

}  // namespace

void seat_evenly(Machine& machine, std::uint64_t devices, std::uint64_t unit) {
  machine.seating.reset();
  if (devices <= machine.devices || machine.devices == 1 || !joins_others(machine)) return;
  if (unit > machine.devices || devices % unit != 0) unit = 1;
  const std::uint64_t units = devices / unit, room = machine.devices / unit;
  const std::uint64_t machines = (units + room - 1) / room;
  const std::uint64_t each = units / machines, larger = units % machines;
  if (larger == 0 && each * unit == machine.devices) return;
  machine.seating = larger == 0 ? Seating{each * unit, machines, 0, machines}
                                : Seating{(each + 1) * unit, larger, unit, machines};
}

std::string seating_text(const Seating& seating) {
  const std::uint64_t smaller = seating.machines - seating.larger;
  const std::string first = repeated(seating.larger, seating.most);
  if (smaller == 0) return first;
  return first + " + " + repeated(smaller, seating.most - seating.fewer);
}

std::uint64_t seat_of(const Machine& machine, std::uint64_t device) {
  if (!machine.seating) return device;
  const Seating& seating = *machine.seating;
  const std::uint64_t in_larger = seating.most * seating.larger;
  if (device < in_larger) {
    return device / seating.most * machine.devices + device % seating.most;
  }
  const std::uint64_t rest = device - in_larger, here = seating.most - seating.fewer;
  return (seating.larger + rest / here) * machine.devices + rest % here;
}

SeatedDevices seated_with(const Machine& machine, std::uint64_t device) {
  const auto around = [&](std::uint64_t begin, std::uint64_t size) {
    const std::uint64_t first = begin + (device - begin) / size * size;
    return SeatedDevices{first, first + size};
  };
  if (!machine.seating) return around(0, machine.devices);
  const Seating& seating = *machine.seating;
  const std::uint64_t in_larger = seating.most * seating.larger;
  if (device < in_larger) return around(0, seating.most);
  return around(in_larger, seating.most - seating.fewer);
}

}  // namespace penstock
