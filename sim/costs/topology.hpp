#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/costs/network.hpp"

namespace penstock {

/// A place where physical links meet: a device, the memory of a host, a NIC, a switch.
enum class Node : std::uint32_t {};

/// How fast a physical link is.
struct Speed {
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;
};

/// What stands where and which physical links lead from one place to another. A plain value, which
/// a kind of topology or a scenario fills.
struct Topology {
  struct Place {
    std::string name;
    bool forwards;  // routes may lead through it, not only begin or end there
  };
  /// A way over one link. Several hops may use the same link, which they then share.
  struct Hop {
    Node from;
    Node to;
    std::uint32_t link;
  };

  std::vector<Place> places;  // by node
  std::vector<NetworkLink> links;
  std::vector<Hop> hops;

  /// Something that passes on what comes: a switch, a NIC.
  Node add_switch(std::string name);
  /// Something where routes only begin and end: a device, the memory of a host.
  Node add_end(std::string name);
  /// A directed link, by the name "from>to"; its number. Throws InputError beyond
  /// `Limits::network_links`.
  std::uint32_t connect(Node from, Node to, const Speed& speed);
  /// A link each way.
  void connect_both_ways(Node one, Node other, const Speed& speed);
};

/// Finds routes through a topology. May be asked from several threads at once.
class Router {
 public:
  explicit Router(Topology topology);
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  const Topology& topology() const;

  /// The links from one node to another, as few as possible; nothing when there is no way. Of
  /// several shortest ways a hash of both ends picks one, the same in every run, as switches with
  /// static ECMP do. Looks only at what lies about half as far from either end, so that the size of
  /// the topology does not matter.
  std::optional<Route> route(Node from, Node to) const;

 private:
  struct Ways;
  std::unique_ptr<const Ways> ways_;
};

}  // namespace penstock
