#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/files.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// The value of a fact, if present.
template <class Value>
void take(const json& facts, const char* key, Value& target) {
  if (facts.contains(key)) target = facts[key]["value"].get<Value>();
}

EfficiencyTable table_of(const json& fact) {
  EfficiencyTable table;
  for (const json& point : fact["value"]) table.push_back({point["size"], point["share"]});
  return table;
}

Efficiency efficiency_of(const json& facts, const char* key) {
  return facts.contains(key) ? Efficiency{table_of(facts[key])} : Efficiency{};
}

std::vector<AttentionSpeed> attention_of(const json& facts) {
  std::vector<AttentionSpeed> speeds;
  if (!facts.contains("attention")) return speeds;
  for (const json& fact : facts["attention"]) {
    speeds.push_back({.kernel = fact["kernel"],
                      .backward = fact["pass"] == "backward",
                      .head_size = fact["head_size"],
                      .by_keys = table_of(fact)});
  }
  return speeds;
}

Device device_of(const CatalogueItem& item) {
  const json facts = json::parse(item.text);
  Device device;
  device.name = item.name;
  for (const auto& [precision, peak] : facts["peak_flops"].items()) {
    device.peak_flops[precision] = peak["value"];
  }
  take(facts, "memory_bytes", device.memory_bytes);
  take(facts, "memory_bandwidth_bytes_per_s", device.memory_bandwidth_bytes_per_s);
  device.matrix_efficiency = efficiency_of(facts, "matrix_efficiency");
  device.memory_efficiency = efficiency_of(facts, "memory_efficiency");
  device.fp8_efficiency = efficiency_of(facts, "fp8_efficiency").table;
  device.attention = attention_of(facts);
  take(facts, "tile", device.tile);
  take(facts, "multiprocessors", device.multiprocessors);
  take(facts, "tile_start", device.tile_start);
  take(facts, "power_watts", device.power_watts);
  take(facts, "like", device.like);
  double cap = device.power_watts;
  take(facts, "power_cap_watts", cap);
  device.power_share = share_under_cap(device, cap);
  take(facts, "unaligned_efficiency", device.unaligned_efficiency);
  take(facts, "kernel_us", device.kernel_us);
  take(facts, "kernel_issue_us", device.kernel_issue_us);
  take(facts, "context_bytes", device.context_bytes);
  take(facts, "reserve", device.reserve);
  return device;
}

/// The item that a fact of a file names.
const CatalogueItem& item_named(const Catalogue& catalogue, const CatalogueItem& by,
                                const json& facts, const char* key, const char* is) {
  const std::string name = facts[key]["value"];
  if (const CatalogueItem* found = find_item(catalogue, is, name)) return *found;
  throw in_file(by.source, InputError(fmt::format("/{}/value", key),
                                      fmt::format("there is no {} \"{}\"; known: {}", is, name,
                                                  names_of_items(catalogue, is))));
}

/// The combined speed of a device's links of one kind.
std::optional<Speed> speed_of(const Catalogue& catalogue, const CatalogueItem& by,
                              const json& facts, const char* key) {
  if (!facts.contains(key)) return std::nullopt;
  const LinkFacts link = link_of(item_named(catalogue, by, facts, key, "link"));
  return Speed{link.bandwidth_bytes_per_s(), link.one.latency_us};
}

void take_links(const Catalogue& catalogue, const CatalogueItem& item, const json& facts,
                Machine& machine) {
  if (facts.contains("link")) {
    const LinkFacts link = link_of(item_named(catalogue, item, facts, "link", "link"));
    machine.link = link.one;
    machine.links = link.links;
  }
  take(facts, "links", machine.links);
  machine.host = speed_of(catalogue, item, facts, "host_link");
  machine.nic = speed_of(catalogue, item, facts, "nic_link");
  take(facts, "devices_per_nic", machine.devices_per_nic);
}

/// Refuses a topology without stated link speeds; its defaults would not be those of this machine.
void check_links(const CatalogueItem& item, const Machine& machine) {
  const TopologyEntry* kind = find_named(topology_entries(), machine.topology->kind);
  if (kind == nullptr) return;  // building the topology reports it
  constexpr std::array<std::string_view, 2> links{"nvlink_bandwidth_bytes_per_s",
                                                  "link_bandwidth_bytes_per_s"};
  for (const TopologyParameter& parameter : kind->parameters) {
    if (std::find(links.begin(), links.end(), parameter.name) == links.end()) continue;
    if (machine.topology->parameters.contains(std::string(parameter.name))) continue;
    throw in_file(item.source,
                  InputError("/link", fmt::format("it is missing; machines of the topology {} "
                                                  "have such links",
                                                  kind->name)));
  }
}

/// Takes the topology from the file, fills in its parameters and checks it.
void take_topology(const CatalogueItem& item, const json& facts, Machine& machine) {
  TopologySpec topology;
  for (const auto& [key, fact] : facts["topology"].items()) {
    if (key == "kind") {
      topology.kind = fact["value"];
    } else {
      topology.parameters[key] = fact["value"];
    }
  }
  set_topology(machine, topology);
  try {
    check_topology(machine.topology->kind, machine.topology->parameters);
  } catch (const InputError& error) {
    constexpr std::string_view above = "/hardware";
    throw in_file(item.source, InputError(error.where().substr(above.size()), error.what()));
  }
  check_links(item, machine);
}

}  // namespace

LinkFacts link_of(const CatalogueItem& item) {
  const json facts = json::parse(item.text);
  LinkFacts link;
  take(facts, "links", link.links);
  take(facts, "bandwidth_bytes_per_s", link.one.bandwidth_bytes_per_s);
  take(facts, "latency_us", link.one.latency_us);
  link.one.bandwidth_bytes_per_s /= link.links;
  return link;
}

Machine machine_of(const Catalogue& catalogue, const CatalogueItem& item) {
  Machine machine;
  machine.name = item.name;
  if (item.is == "device") {
    machine.device = device_of(item);
    return machine;
  }
  const json facts = json::parse(item.text);
  machine.device = device_of(item_named(catalogue, item, facts, "device", "device"));
  take(facts, "devices", machine.devices);
  take_links(catalogue, item, facts, machine);
  take_topology(item, facts, machine);
  take(facts, "link_efficiency", machine.link_efficiency);
  take(facts, "nic_efficiency", machine.nic_efficiency);
  take(facts, "collective_us", machine.collective_us);
  if (facts.contains("in_network_bandwidth_bytes_per_s")) {
    machine.in_network.emplace();
    take(facts, "in_network_bandwidth_bytes_per_s", machine.in_network->bandwidth_bytes_per_s);
    take(facts, "in_network_us", machine.in_network->latency_us);
  }
  take(facts, "communication_bytes", machine.communication_bytes);
  take(facts, "warm_up_us", machine.warm_up_us);
  return machine;
}

}  // namespace penstock
