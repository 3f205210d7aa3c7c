#pragma once

#include <optional>

#include "hardware_models/links/wiring.hpp"
#include "hardware_models/spec/hardware_spec.hpp"

namespace penstock {

/// The time of collectives among holders of the same weights, over the machine's links: with the
/// algorithm named in the scenario, otherwise the fastest.
class WeightCollectives {
 public:
  /// For hardware without known links.
  WeightCollectives() = default;
  /// Has no times either when the spec has no machine with links or wires its own.
  explicit WeightCollectives(const HardwareSpec& spec);

  /// Latency is the time of the collective without bytes; the rest occupies the links. Together
  /// they equal the formula.
  std::optional<TransferTime> time(CollectiveKind kind, double bytes, const Holders& holders) const;

 private:
  std::optional<HardwareSpec> spec_;
};

/// The cost of transfers, over private links for every ordered pair of ranks or over shared
/// physical links.
class LinkCosts {
 public:
  /// A pure delay, or a latency and a bandwidth. Throws InputError when a spec has both, or shared
  /// links; `name` is the cost model's.
  static LinkCosts private_links(const HardwareSpec& spec, const std::string& name);
  /// Throws InputError when a spec has private links or no links.
  static LinkCosts shared_links(const HardwareSpec& spec);
  /// Shared links if the spec has any, otherwise private links.
  static LinkCosts links(const HardwareSpec& spec, const std::string& name);

  /// On shared links the slowest link of the route sets the bandwidth, and latencies add up.
  TransferTime transfer(double bytes, Rank from, Rank to) const;
  Network network() const;
  Route route(const Link& link) const;

 private:
  TransferTime transfer_of_pair(double bytes, Rank from, Rank to) const;

  std::optional<Wiring> wiring_;
  Sharing sharing_ = Sharing::fair;
  Speed pair_;  // without a bandwidth: a pure delay
  Speed host_;
};

/// A cost model without layer times.
class LinkedHardware : public HardwareModel {
 public:
  explicit LinkedHardware(LinkCosts links) : links_(std::move(links)) {}
  /// With the machine of the spec, if any.
  LinkedHardware(LinkCosts links, const HardwareSpec& spec)
      : links_(std::move(links)), weights_(spec) {}

  TransferTime transfer(double bytes, Rank from, Rank to) const final {
    return links_.transfer(bytes, from, to);
  }
  std::optional<TransferTime> collective(CollectiveKind kind, double bytes,
                                         const Holders& holders) const final {
    return weights_.time(kind, bytes, holders);
  }
  Network network() const final { return links_.network(); }
  Route route(const Link& link) const final { return links_.route(link); }

 private:
  LinkCosts links_;
  WeightCollectives weights_;
};

}  // namespace penstock
