#pragma once

#include <optional>

#include "hardware_models/links/weight_collectives.hpp"
#include "hardware_models/links/wiring.hpp"
#include "hardware_models/spec/hardware_spec.hpp"

namespace penstock {

/// What transfers cost, over links of which every ordered pair of ranks has one of its own, or over
/// physical ones that several share.
class LinkCosts {
 public:
  /// A pure delay, or a latency with a bandwidth. Throws InputError when a spec says both, or
  /// speaks of shared links; `name` is the cost model's.
  static LinkCosts private_links(const HardwareSpec& spec, const std::string& name);
  /// Throws InputError when a spec speaks of private links, or does not say which links there are.
  static LinkCosts shared_links(const HardwareSpec& spec);
  /// Shared links where a spec has any.
  static LinkCosts links(const HardwareSpec& spec, const std::string& name);

  /// On shared links the slowest of the route sets the pace, and all latencies of it add up.
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

/// A cost model but for what layers take.
class LinkedHardware : public HardwareModel {
 public:
  explicit LinkedHardware(LinkCosts links) : links_(std::move(links)) {}
  /// The same with the machine of a spec, if it has one.
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
