#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hardware_models/spec/hardware_spec.hpp"
#include "sim/costs/network.hpp"
#include "sim/costs/topology.hpp"

namespace penstock {

/// The physical links of a machine, and the routes between ranks.
struct Wiring {
  std::shared_ptr<const std::vector<NetworkLink>> links;
  std::function<Route(const Link&)> route;  // throws InputError when there is none
};

/// The wiring of a scenario: links with routes, links with ends, or a topology. Throws InputError
/// when it has none or several of these, or a name that does not exist.
Wiring wiring_of(const HardwareSpec& spec);

/// Routes over a topology, each searched once. Thread-safe.
class KnownRoutes {
 public:
  explicit KnownRoutes(Topology topology) : router_(std::move(topology)) {}

  const std::vector<NetworkLink>& links() const { return router_.topology().links; }
  /// Nothing where there is none.
  std::optional<Route> between(Node from, Node to) const;

 private:
  Router router_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<Node, Node>, std::optional<Route>> known_;
};

/// A topology with its devices, which scenarios with the same machines and devices can share.
struct SeatedCluster {
  std::shared_ptr<const KnownRoutes> routes;
  std::vector<Node> devices;
  std::vector<Node> host_of;  // by device
};

/// Clusters of topologies, those last asked for: to make one takes milliseconds for thousands of
/// devices. Thread-safe.
class Clusters {
 public:
  /// The wiring of a topology over a cluster that is known if possible.
  Wiring wiring(const HardwareSpec& spec);

 private:
  using Key = std::tuple<std::string, std::map<std::string, double>, std::uint32_t, std::uint64_t,
                         std::uint64_t, std::array<std::uint64_t, 4>>;
  struct Known {
    Key key;
    std::shared_ptr<const SeatedCluster> cluster;
  };
  static Key key(const HardwareSpec& spec);
  /// Null if there is none.
  std::shared_ptr<const SeatedCluster> find(const Key& key);
  void keep(const Key& key, std::shared_ptr<const SeatedCluster> cluster);

  std::mutex mutex_;
  std::vector<Known> known_;  // the last one is the one last asked for
  std::size_t devices_ = 0;   // of all
};

}  // namespace penstock
