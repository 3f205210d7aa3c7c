#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/spec/machine.hpp"
#include "hardware_models/spec/profile.hpp"
#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// A physical link as a scenario gives it: by name for routes that name it, or with its ends.
struct LinkSpec {
  std::string name;
  std::string from;
  std::string to;
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;
};

/// What a scenario says about its hardware.
struct HardwareSpec {
  double transfer_us = 0;  // per tensor that crosses ranks; occupies nothing
  std::optional<double> latency_us;
  std::optional<double> bandwidth_bytes_per_s;
  // Between a rank and the memory of its host; where not given, as between ranks.
  std::optional<double> host_latency_us;
  std::optional<double> host_bandwidth_bytes_per_s;

  std::optional<Sharing> sharing;
  std::vector<LinkSpec> links;
  std::map<std::string, std::vector<std::string>> routes;  // "0>1": the names of its links
  std::optional<TopologySpec> topology;

  std::optional<Machine> machine;  // what layers known by their work run on
  std::string precision = "bf16";  // of their matrix products
  std::optional<Profile> profile;  // what layers were measured to take
  // The devices of each group that shares a layer; tensor groups are neighbours, then context.
  std::uint64_t tensor = 1;
  std::uint64_t context = 1;
  std::uint64_t expert = 1;
  CollectiveChoice collectives;  // by which algorithms these talk

  // Rank r is device r * devices_per_rank and those after it; the next one that holds the same
  // weights is `devices_per_replica` further.
  std::uint32_t ranks = 1;
  std::uint64_t devices_per_rank = 1;
  std::uint64_t devices_per_replica = 1;
};

}  // namespace penstock
