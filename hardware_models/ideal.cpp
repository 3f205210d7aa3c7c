#include "hardware_models/registry.hpp"
#include "hardware_models/stated_times.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

/// Devices on which every layer takes the time that the model states for it, and links that are
/// either a pure delay or a latency with a bandwidth.
class Ideal final : public HardwareModel {
 public:
  explicit Ideal(const HardwareSpec& spec) : spec_(spec) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    return stated_us(layer, pass);
  }

  TransferTime transfer(double bytes, Rank from, Rank to) const override {
    const bool with_host = from == host_memory || to == host_memory;
    double latency_us = spec_.latency_us.value_or(spec_.transfer_us);
    auto bandwidth = spec_.bandwidth_bytes_per_s;
    if (with_host && spec_.host_latency_us) latency_us = *spec_.host_latency_us;
    if (with_host && spec_.host_bandwidth_bytes_per_s) bandwidth = spec_.host_bandwidth_bytes_per_s;
    if (!bandwidth) return {0, latency_us};
    return {bytes / *bandwidth * 1e6, latency_us};
  }

 private:
  HardwareSpec spec_;
};

/// Every ordered pair of ranks has a link of its own here.
void refuse_shared_links(const HardwareSpec& spec) {
  const char* key = spec.topology          ? "topology"
                    : !spec.links.empty()  ? "links"
                    : !spec.routes.empty() ? "routes"
                                           : nullptr;
  if (key == nullptr) return;
  throw InputError(
      std::string("/hardware/") + key,
      "the cost model \"ideal\" has no shared links; they go with the name \"custom\"");
}

std::unique_ptr<HardwareModel> make(const HardwareSpec& spec) {
  if (spec.transfer_us != 0 && (spec.latency_us || spec.bandwidth_bytes_per_s)) {
    throw InputError("/hardware",
                     "transfer_us stands beside latency_us or bandwidth_bytes_per_s; "
                     "give a pure delay, or a latency with a bandwidth");
  }
  refuse_shared_links(spec);
  return std::make_unique<Ideal>(spec);
}

}  // namespace

constinit extern const CostModelEntry ideal_entry{
    "ideal", "every layer takes the time the model states; links with a delay, or a bandwidth",
    make};

}  // namespace penstock
