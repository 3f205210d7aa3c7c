#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/costs/network.hpp"

namespace penstock {

/// An end of physical links: a device, host memory, a NIC, a switch.
enum class Node : std::uint32_t {};

/// Bandwidth and latency of a physical link, the bandwidth for one of its sharers.
struct Speed {
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;
  std::uint32_t sharers = 1;
};

/// Nodes and the physical links between them: a plain value filled by a topology or a scenario.
struct Topology {
  struct Place {
    std::string name;
    bool forwards;  // routes may pass through it
  };
  /// A hop over one link. Several hops may share the same link.
  struct Hop {
    Node from;
    Node to;
    std::uint32_t link;
  };

  std::vector<Place> places;  // by node
  std::vector<NetworkLink> links;
  std::vector<Hop> hops;

  /// A node that forwards: a switch, a NIC.
  Node add_switch(std::string name);
  /// A node where routes only begin and end: a device, host memory.
  Node add_end(std::string name);
  /// Adds a directed link named "from>to" and returns its number. Throws InputError beyond
  /// `Limits::network_links`.
  std::uint32_t connect(Node from, Node to, const Speed& speed);
  /// A link each way.
  void connect_both_ways(Node one, Node other, const Speed& speed);
};

/// Finds routes through a topology. Thread-safe.
class Router {
 public:
  explicit Router(Topology topology);
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  const Topology& topology() const;

  /// The links of a shortest route between two nodes; nothing when there is none. Among equal
  /// routes a hash of both ends picks one, the same in every run, like static ECMP in switches.
  /// Searches from both ends, so the cost does not depend on the size of the topology.
  std::optional<Route> route(Node from, Node to) const;

 private:
  struct Ways;
  std::unique_ptr<const Ways> ways_;
};

}  // namespace penstock
