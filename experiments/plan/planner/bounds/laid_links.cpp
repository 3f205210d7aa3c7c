#include "experiments/plan/planner/bounds/laid_links.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "experiments/plan/planner/bounds/plan_base.hpp"
#include "hardware_models/links/link_costs.hpp"

namespace penstock {
namespace {

bool same(const Kernel& a, const Kernel& b) {
  return a.pass == b.pass && a.kind == b.kind && a.flops == b.flops && a.bytes == b.bytes &&
         a.rows == b.rows && a.columns == b.columns && a.inner == b.inner && a.batch == b.batch &&
         a.masked == b.masked && a.narrows == b.narrows && a.fused == b.fused &&
         a.count == b.count && a.selective == b.selective;
}

bool same(const Collective& a, const Collective& b) {
  return a.pass == b.pass && a.kind == b.kind && a.group == b.group && a.bytes == b.bytes &&
         a.count == b.count && a.selective == b.selective;
}

template <class Item>
bool same(const std::vector<Item>& a, const std::vector<Item>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Item& one, const Item& other) { return same(one, other); });
}

/// Whether two layers of one model take the same times: layers that state work alone, equal but for
/// their names.
bool same_work(const Layer& a, const Layer& b) {
  const auto states_times = [](const Layer& layer) {
    return layer.forward_us || layer.backward_us || layer.backward_input_us ||
           layer.backward_weight_us || layer.recompute_us != 0;
  };
  return !states_times(a) && !states_times(b) && a.key.kind == b.key.kind &&
         a.work.recomputes_selected == b.work.recomputes_selected &&
         same(a.work.kernels, b.work.kernels) && same(a.work.collectives, b.work.collectives);
}

/// A cost model with other links. Only one thread may ask it.
class OverLinks final : public HardwareModel {
 public:
  OverLinks(std::unique_ptr<HardwareModel> devices, LinkCosts links)
      : devices_(std::move(devices)), links_(std::move(links)) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    auto& us = known(layer).us[static_cast<std::size_t>(pass)];
    if (!us) us = devices_->compute_us(layer, pass);
    return *us;
  }
  std::optional<DeviceUse> use(const Layer& layer, Pass pass) const override {
    return devices_->use(layer, pass);
  }
  TransferTime transfer(double bytes, Rank from, Rank to) const override {
    return links_.transfer(bytes, from, to);
  }
  std::optional<TransferTime> collective(CollectiveKind kind, double bytes,
                                         const Holders& holders) const override {
    return devices_->collective(kind, bytes, holders);
  }
  std::optional<double> peak_flops() const override { return devices_->peak_flops(); }
  Network network() const override { return links_.network(); }
  Route route(const Link& link) const override { return links_.route(link); }

 private:
  struct Known {
    const Layer* layer;
    std::array<std::optional<std::optional<double>>, pass_count> us;
  };
  Known& known(const Layer& layer) const {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
      return one.layer == &layer || same_work(*one.layer, layer);
    });
    if (found != known_.end()) return *found;
    return known_.emplace_back(Known{&layer, {}});
  }

  std::unique_ptr<HardwareModel> devices_;
  LinkCosts links_;
  mutable std::vector<Known> known_;
};

}  // namespace

std::shared_ptr<const HardwareModel> hardware_over(Clusters& clusters, const Layout& layout) {
  const HardwareSpec& spec = layout.hardware.spec;
  // Other cost models have a word on links: they refuse them, or need them.
  const bool laid = layout.hardware.cost_model == "roofline" && spec.machine &&
                    spec.machine->topology && spec.topology && spec.links.empty() &&
                    spec.routes.empty();
  if (!laid) return hardware_of(layout);
  return std::make_unique<OverLinks>(hardware_without_links(layout),
                                     LinkCosts::shared_links(spec, clusters.wiring(spec)));
}

}  // namespace penstock
