#include "hardware_models/topologies/registry.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

std::pair<const TopologyEntry*, NamedNumbers> checked(
    std::string_view kind, const std::map<std::string, double>& parameters) {
  const TopologyEntry* entry = find_named(topology_entries(), kind);
  if (entry == nullptr) {
    throw InputError(
        "/hardware/topology/kind",
        fmt::format("{}; known: {}",
                    kind.empty() ? "\"kind\" is missing" : fmt::format("unknown kind \"{}\"", kind),
                    names_of(topology_entries())));
  }
  try {
    const NamedNumbers given(parameters.begin(), parameters.end());
    return {entry, settled_numbers(entry->name, entry->parameters, given, "parameter")};
  } catch (const InputError& error) {
    throw InputError("/hardware/topology" + error.where(), error.what());
  }
}

}  // namespace

Speed TopologyParameters::speed(std::string_view link) const {
  const std::uint32_t sharers = link == "nic" ? nic_sharers_ : 1;
  return {(*this)[fmt::format("{}_bandwidth_bytes_per_s", link)] / sharers,
          (*this)[fmt::format("{}_latency_us", link)], sharers};
}

void check_topology(std::string_view kind, const std::map<std::string, double>& parameters) {
  checked(kind, parameters);
}

Cluster make_cluster(std::string_view kind, std::uint32_t devices,
                     const std::map<std::string, double>& parameters, std::uint32_t nic_sharers) {
  auto [entry, values] = checked(kind, parameters);
  return entry->make(devices, TopologyParameters(std::move(values), nic_sharers));
}

}  // namespace penstock
