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

/// A physical link of a scenario, with a name for routes or with its ends.
struct LinkSpec {
  std::string name;
  std::string from;
  std::string to;
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;
};

/// The hardware section of a scenario.
struct HardwareSpec {
  double transfer_us = 0;  // per tensor between ranks; occupies no link
  std::optional<double> latency_us;
  std::optional<double> bandwidth_bytes_per_s;
  // Between a rank and its host memory; default as between ranks.
  std::optional<double> host_latency_us;
  std::optional<double> host_bandwidth_bytes_per_s;

  std::optional<Sharing> sharing;
  std::vector<LinkSpec> links;
  std::map<std::string, std::vector<std::string>> routes;  // "0>1": names of its links
  std::optional<TopologySpec> topology;

  std::optional<Machine> machine;  // for layers given by their work
  std::string precision = "bf16";  // of matrix products
  std::optional<Profile> profile;  // measured layer times
  // Devices of each group that shares a layer; tensor groups are innermost, then context.
  std::uint64_t tensor = 1;
  std::uint64_t context = 1;
  std::uint64_t expert = 1;
  CollectiveChoice collectives;   // their algorithms
  bool overlaps_experts = false;  // all-to-alls of experts overlap the kernels of their pass

  // Rank r is device r * devices_per_rank and those after it; the next holder of the same weights
  // is `devices_per_replica` further.
  std::uint32_t ranks = 1;
  std::uint64_t devices_per_rank = 1;
  std::uint64_t devices_per_replica = 1;
};

}  // namespace penstock
