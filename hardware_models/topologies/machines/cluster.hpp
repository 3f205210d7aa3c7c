#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/costs/topology.hpp"

namespace penstock {

/// Machines and their interconnect.
struct Cluster {
  Topology topology;
  std::vector<Node> devices;
  std::vector<Node> host_of;  // by device: the host memory of its machine
};

/// The unit of a topology parameter.
enum class Measure : std::uint8_t { count, bandwidth_bytes_per_s, latency_us };

/// A parameter of a topology.
struct TopologyParameter {
  std::string_view name;
  std::string_view summary;
  Measure measure;
  std::optional<double> otherwise;  // default; without it the parameter is required
};

/// A link has two parameters: "nic" has nic_bandwidth_bytes_per_s and nic_latency_us.
class TopologyParameters {
 public:
  explicit TopologyParameters(std::map<std::string, double, std::less<>> values)
      : values_(std::move(values)) {}

  std::uint32_t count(std::string_view name) const;
  Speed speed(std::string_view link) const;

 private:
  std::map<std::string, double, std::less<>> values_;
};

}  // namespace penstock
