#include <array>
#include <utility>

#include "hardware_models/registry.hpp"
#include "hardware_models/stated_times.hpp"
#include "hardware_models/wiring.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

/// Devices on which every layer takes the time that the model states for it, and physical links
/// that transfers of several pairs of ranks share.
class Custom final : public HardwareModel {
 public:
  Custom(Wiring wiring, Sharing sharing) : wiring_(std::move(wiring)), sharing_(sharing) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    return stated_us(layer, pass);
  }

  /// The slowest link of the route sets the pace, and all latencies of the route add up.
  TransferTime transfer(double bytes, Rank from, Rank to) const override {
    const Route route = wiring_.route({from, to});
    double latency_us = 0;
    for (const std::uint32_t number : route) latency_us += wiring_.links[number].latency_us;
    return {occupied_us(bytes, wiring_.links, route), latency_us};
  }

  Network network() const override { return {wiring_.links, {}, sharing_}; }
  Route route(const Link& link) const override { return wiring_.route(link); }

 private:
  Wiring wiring_;
  Sharing sharing_;
};

/// What speaks of private links.
void refuse_private_links(const HardwareSpec& spec) {
  const std::array<std::pair<const char*, bool>, 5> keys{
      {{"transfer_us", spec.transfer_us != 0},
       {"latency_us", spec.latency_us.has_value()},
       {"bandwidth_bytes_per_s", spec.bandwidth_bytes_per_s.has_value()},
       {"host_latency_us", spec.host_latency_us.has_value()},
       {"host_bandwidth_bytes_per_s", spec.host_bandwidth_bytes_per_s.has_value()}}};
  for (const auto& [key, given] : keys) {
    if (!given) continue;
    throw InputError(std::string("/hardware/") + key,
                     "the links of custom hardware each have their own bandwidth and latency");
  }
}

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  refuse_private_links(spec);
  return std::make_unique<Custom>(wiring_of(spec), spec.sharing.value_or(Sharing::fair));
}

}  // namespace

constinit extern const CostModelEntry custom_entry{
    "custom",
    "times as the model states them; physical links that are shared: given, or a topology", make};

}  // namespace penstock
