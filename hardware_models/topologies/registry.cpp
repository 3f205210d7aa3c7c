#include "hardware_models/topologies/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

[[noreturn]] void refuse(std::string_view key, const std::string& what) {
  throw InputError("/hardware/topology" + pointer_step(key), what);
}

void check_names(const TopologyEntry& entry, const std::map<std::string, double>& given) {
  std::vector<std::string_view> known;
  for (const TopologyParameter& parameter : entry.parameters) known.push_back(parameter.name);
  for (const auto& setting : given) {
    if (std::find(known.begin(), known.end(), setting.first) != known.end()) continue;
    refuse(setting.first, fmt::format("unknown parameter \"{}\"; {} takes {}", setting.first,
                                      entry.name, fmt::join(known, ", ")));
  }
}

void check_value(const TopologyParameter& parameter, double value) {
  const auto fits = [&](const char* what, double least, double most, bool whole) {
    if (value >= least && value <= most && (!whole || std::floor(value) == value)) return;
    refuse(parameter.name, fmt::format("{} is not {} from {} to {} ({})", value, what, least, most,
                                       parameter.summary));
  };
  switch (parameter.measure) {
    case Measure::count:
      return fits("a whole number", 1, Limits::stages, /*whole=*/true);
    case Measure::bandwidth_bytes_per_s:
      return fits("a number", 1, Limits::bytes, /*whole=*/false);
    case Measure::latency_us:
      return fits("a number", 0, Limits::time_us, /*whole=*/false);
  }
}

double value_of(const TopologyEntry& entry, const TopologyParameter& parameter,
                const std::map<std::string, double>& given) {
  const auto found = given.find(std::string(parameter.name));
  if (found == given.end() && !parameter.otherwise) {
    refuse(parameter.name, fmt::format("\"{}\" is missing; {} needs it ({})", parameter.name,
                                       entry.name, parameter.summary));
  }
  const double value = found == given.end() ? *parameter.otherwise : found->second;
  check_value(parameter, value);
  return value;
}

std::pair<const TopologyEntry*, TopologyParameters> checked(
    std::string_view kind, const std::map<std::string, double>& parameters) {
  const TopologyEntry* entry = find_named(topology_entries(), kind);
  if (entry == nullptr) {
    refuse("kind", fmt::format("{}; known: {}",
                               kind.empty() ? "\"kind\" is missing"
                                            : fmt::format("unknown kind \"{}\"", kind),
                               names_of(topology_entries())));
  }
  check_names(*entry, parameters);
  std::map<std::string, double, std::less<>> values;
  for (const TopologyParameter& parameter : entry->parameters) {
    values[std::string(parameter.name)] = value_of(*entry, parameter, parameters);
  }
  return {entry, TopologyParameters(std::move(values))};
}

}  // namespace

std::uint32_t TopologyParameters::count(std::string_view name) const {
  return static_cast<std::uint32_t>(values_.find(name)->second);
}

Speed TopologyParameters::speed(std::string_view link) const {
  return {values_.find(fmt::format("{}_bandwidth_bytes_per_s", link))->second,
          values_.find(fmt::format("{}_latency_us", link))->second};
}

void check_topology(std::string_view kind, const std::map<std::string, double>& parameters) {
  checked(kind, parameters);
}

Cluster make_cluster(std::string_view kind, std::uint32_t devices,
                     const std::map<std::string, double>& parameters) {
  const auto found = checked(kind, parameters);
  return found.first->make(devices, found.second);
}

}  // namespace penstock
