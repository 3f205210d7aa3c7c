#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/costs/topology.hpp"

namespace penstock {

/// Machines and what joins them.
struct Cluster {
  Topology topology;
  std::vector<Node> devices;
  std::vector<Node> host_of;  // by device: the memory of the host of its machine
};

/// What a parameter of a topology measures.
enum class Measure : std::uint8_t { count, bandwidth_bytes_per_s, latency_us };

/// A parameter that a kind of topology takes.
struct TopologyParameter {
  std::string_view name;
  std::string_view summary;
  Measure measure;
  std::optional<double> otherwise;  // what it is when it is not given; without: it must be given
};

/// A link of some speed takes two parameters: "nic" has nic_bandwidth_bytes_per_s and
/// nic_latency_us.
class TopologyParameters {
 public:
  explicit TopologyParameters(std::map<std::string, double, std::less<>> values)
      : values_(std::move(values)) {}

  std::uint32_t count(std::string_view name) const;
  Speed speed(std::string_view link) const;

 private:
  std::map<std::string, double, std::less<>> values_;
};

/// One kind of topology. A kind is one .cpp of this folder.
struct TopologyEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const TopologyParameter> parameters;
  /// So many devices or more, named "0", "1", …, and all that joins them.
  Cluster (*make)(std::uint32_t devices, const TopologyParameters& parameters);
  bool one_machine = false;  // however many devices there are
  bool direct = false;       // devices have links to each other rather than to a switch
};

/// All kinds of topology, by name.
std::span<const TopologyEntry* const> topology_entries();

/// Throws InputError, its JSON pointer below /hardware/topology, for an unknown kind and for
/// parameters that it does not take.
void check_topology(std::string_view kind, const std::map<std::string, double>& parameters);

/// Calls the kind by its name after checking its parameters. Throws InputError with a JSON pointer
/// below /hardware/topology.
Cluster make_cluster(std::string_view kind, std::uint32_t devices,
                     const std::map<std::string, double>& parameters);

}  // namespace penstock
