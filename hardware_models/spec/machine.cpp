#include "hardware_models/spec/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware_models/topologies/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/base/parameters.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

using Values = std::map<std::string, double>;

void add_speed(Values& values, const std::string& link, const std::optional<Speed>& speed) {
  if (!speed) return;
  values[link + "_bandwidth_bytes_per_s"] = speed->bandwidth_bytes_per_s;
  values[link + "_latency_us"] = speed->latency_us;
}

/// All links of a device as one, at wire speed.
std::optional<Speed> links_together(const Machine& machine) {
  if (!machine.link) return std::nullopt;
  return Speed{machine.link->bandwidth_bytes_per_s * machine.links, machine.link->latency_us};
}

/// The facts of a machine, by the names of topology parameters. To a switch, all links of a device
/// are one.
Values facts_of(const Machine& machine) {
  Values values{{"devices_per_node", static_cast<double>(machine.devices)},
                {"devices_per_nic", machine.devices_per_nic},
                {"links_per_device", machine.links}};
  add_speed(values, "nvlink", links_together(machine));
  add_speed(values, "link", machine.link);
  add_speed(values, "pcie", machine.host);
  add_speed(values, "nic", machine.nic);
  return values;
}

/// The parameters of a topology that a machine knows; none for an unknown topology.
Values known_parameters(const std::string& kind, const Machine& machine) {
  Values known;
  const TopologyEntry* entry = find_named(topology_entries(), kind);
  if (entry == nullptr) return known;
  const Values facts = facts_of(machine);
  for (const Parameter& parameter : entry->parameters) {
    const auto fact = facts.find(std::string(parameter.name));
    if (fact != facts.end()) known.insert(*fact);
  }
  return known;
}

/// Writes topology parameters about links back into the machine: groups and ranks use the same
/// links.
void take_back(const TopologySpec& topology, Machine& machine) {
  const auto speed = [&](const std::string& link, std::optional<Speed>& own, double share) {
    const auto bandwidth = topology.parameters.find(link + "_bandwidth_bytes_per_s");
    const auto latency = topology.parameters.find(link + "_latency_us");
    if (bandwidth == topology.parameters.end()) return;
    own = Speed{bandwidth->second * share,
                latency == topology.parameters.end() ? 0 : latency->second};
  };
  speed("nvlink", machine.link, 1 / machine.links);
  speed("link", machine.link, 1);
  speed("pcie", machine.host, 1);
  speed("nic", machine.nic, 1);
}

/// Devices that a topology connects without NICs, if its parameters say.
std::uint64_t devices_together(const TopologySpec& topology, std::uint64_t otherwise) {
  const auto value = [&](const char* name) {
    const auto found = topology.parameters.find(name);
    return found == topology.parameters.end() ? 1.0 : found->second;
  };
  constexpr double most = 1e15;  // errors are reported when the topology is built
  if (topology.parameters.contains("devices_per_node")) {
    return static_cast<std::uint64_t>(std::clamp(value("devices_per_node"), 1.0, most));
  }
  if (!topology.parameters.contains("x")) return otherwise;
  return static_cast<std::uint64_t>(std::clamp(value("x") * value("y") * value("z"), 1.0, most));
}

double share_in(const EfficiencyTable& table, double size) {
  if (table.empty()) return 1;
  const auto high =
      std::ranges::find_if(table, [&](const EfficiencyPoint& point) { return point.size >= size; });
  if (high == table.begin()) return high->share;
  if (high == table.end()) return table.back().share;
  const EfficiencyPoint& low = *(high - 1);
  const double way = portable_log(size / low.size) / portable_log(high->size / low.size);
  return low.share + (high->share - low.share) * way;
}

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

double efficiency_at(const Efficiency& efficiency, double size) {
  const double share = share_in(efficiency.table, size);
  // No work takes no time at any efficiency.
  return size > 0 ? share * (size / (size + efficiency.half_at)) : share;
}

std::span<const Recipe> recipes() {
  // A scale a tensor, known from steps before; one for 128 values; an fp8 exponent for 32 values;
  // an fp8 scale for 16 values, after the largest one of the tensor was found.
  static constexpr std::array all{
      Recipe{"fp8", "fp8", 1, 1}, Recipe{"fp8-block", "fp8", 1 + 4.0 / 128, 1},
      Recipe{"mxfp8", "fp8", 1 + 1.0 / 32, 1}, Recipe{"nvfp4", "fp4", 0.5 + 1.0 / 16, 2}};
  return all;
}

const Recipe* recipe_of(std::string_view precision) {
  const auto found = std::ranges::find(recipes(), precision, &Recipe::name);
  return found == recipes().end() ? nullptr : &*found;
}

std::optional<std::string_view> runs_in(const Device& device, std::string_view precision) {
  constexpr std::array<std::string_view, 5> wider{"fp4", "fp8", "bf16", "fp16", "fp32"};
  if (const Recipe* recipe = recipe_of(precision)) precision = recipe->units;
  if (device.peak_flops.contains(precision)) return precision;
  if (precision == "tf32") return runs_in(device, "fp32");
  const auto own = std::ranges::find(wider, precision);
  const auto found = std::find_if(own, wider.end(), [&](std::string_view candidate) {
    return device.peak_flops.contains(candidate);
  });
  return found == wider.end() ? std::nullopt : std::optional(*found);
}

const Recipe* narrowing_on(const Device& device, std::string_view precision) {
  const Recipe* recipe = recipe_of(precision);
  const auto units = recipe != nullptr ? runs_in(device, precision) : std::nullopt;
  return units == "fp8" || units == "fp4" ? recipe : nullptr;
}

double share_under_cap(const Device& device, double watts) {
  if (device.power_watts <= 0 || watts >= device.power_watts) return 1;
  return portable_exp(portable_log(watts / device.power_watts) / 3);
}

double watts_at_work(const Device& device) {
  return device.power_watts * device.power_share * device.power_share * device.power_share;
}

void set_topology(Machine& machine, const TopologySpec& given) {
  TopologySpec topology = machine.topology.value_or(TopologySpec{});
  if (!given.kind.empty() && given.kind != topology.kind) topology = {given.kind, {}};
  topology.parameters.merge(known_parameters(topology.kind, machine));
  for (const auto& [name, value] : given.parameters) topology.parameters[name] = value;
  machine.devices = devices_together(topology, machine.devices);
  take_back(topology, machine);
  machine.topology = std::move(topology);
}

std::optional<TopologySpec> topology_in_use(const Machine& machine) {
  std::optional<TopologySpec> topology = machine.topology;
  if (!topology) return topology;
  const auto slow = [&](const char* bandwidth, double share) {
    const auto found = topology->parameters.find(bandwidth);
    if (found != topology->parameters.end()) found->second *= share;
  };
  slow("nvlink_bandwidth_bytes_per_s", machine.link_efficiency);
  slow("link_bandwidth_bytes_per_s", machine.link_efficiency);
  slow("nic_bandwidth_bytes_per_s", machine.nic_efficiency);
  return topology;
}

std::optional<Speed> speed_inside(const Machine& machine) {
  std::optional<Speed> speed = links_together(machine);
  if (speed) speed->bandwidth_bytes_per_s *= machine.link_efficiency;
  return speed;
}

std::optional<Speed> speed_outside(const Machine& machine) {
  if (!machine.nic) return std::nullopt;
  double sharing = machine.devices_per_nic;
  if (machine.seating) {  // fewer devices reach a NIC, and may have one of their own
    const auto here = static_cast<double>(machine.seating->most);
    sharing = here / std::ceil(here / sharing);
  }
  return Speed{machine.nic->bandwidth_bytes_per_s * machine.nic_efficiency / sharing,
               machine.nic->latency_us};
}

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
