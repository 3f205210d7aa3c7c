#include "experiments/input/scenario/read_network.hpp"

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"

namespace penstock {
namespace {

using nlohmann::json;

LinkSpec read_link(const json& link) {
  return {.name = link.value("name", ""),
          .from = link.value("from", ""),
          .to = link.value("to", ""),
          .bandwidth_bytes_per_s = link["bandwidth_bytes_per_s"],
          .latency_us = link.value("latency_us", 0.0)};
}

TopologySpec read_topology(const json& topology) {
  TopologySpec spec;
  for (const auto& [key, value] : topology.items()) {
    if (key == "kind") {
      spec.kind = value;
    } else {
      spec.parameters[key] = value;
    }
  }
  return spec;
}

/// By kind of collective; "auto" leaves the choice open.
CollectiveChoice read_collectives(const json& collectives) {
  CollectiveChoice choice;
  for (const auto& [key, value] : collectives.items()) {
    const CollectiveKind kind = *collective_kind(key);
    const auto algorithm = value.get<std::string>();
    if (algorithm != "auto") choice[kind] = &collective_algorithm(kind, algorithm);
  }
  return choice;
}

}  // namespace

HardwareSpec read_network(const json& hardware) {
  HardwareSpec spec;
  take(hardware, "transfer_us", spec.transfer_us);
  take(hardware, "latency_us", spec.latency_us);
  take(hardware, "bandwidth_bytes_per_s", spec.bandwidth_bytes_per_s);
  take(hardware, "host_latency_us", spec.host_latency_us);
  take(hardware, "host_bandwidth_bytes_per_s", spec.host_bandwidth_bytes_per_s);
  if (hardware.contains("sharing")) {
    spec.sharing = hardware["sharing"] == "fifo" ? Sharing::fifo : Sharing::fair;
  }
  if (hardware.contains("links")) {
    for (const json& link : hardware["links"]) spec.links.push_back(read_link(link));
  }
  if (hardware.contains("routes")) {
    for (const auto& [ends, names] : hardware["routes"].items()) spec.routes[ends] = names;
  }
  if (hardware.contains("collectives")) {
    spec.collectives = read_collectives(hardware["collectives"]);
  }
  if (hardware.contains("topology")) spec.topology = read_topology(hardware["topology"]);
  return spec;
}

}  // namespace penstock
