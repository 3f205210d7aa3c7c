#include "experiments/plan/planner/step_split.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

/// In the order in which they are taken away.
constexpr std::array removed{StepPart::sums,    StepPart::sends,  StepPart::experts,
                             StepPart::context, StepPart::tensor, StepPart::recomputation};

StepPart part_of(Group group) {
  if (group == Group::context) return StepPart::context;
  return group == Group::tensor ? StepPart::tensor : StepPart::experts;
}

/// Hardware on which some parts of a step take no time.
class Without final : public HardwareModel {
 public:
  Without(std::shared_ptr<const HardwareModel> own, std::size_t parts)
      : own_(std::move(own)), parts_(parts) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    if (pass == Pass::recompute && is_free(StepPart::recomputation)) return 0;
    return own_->compute_us(freed(layer), pass);
  }
  std::optional<DeviceUse> use(const Layer& layer, Pass pass) const override {
    if (pass == Pass::recompute && is_free(StepPart::recomputation)) return DeviceUse{};
    return own_->use(freed(layer), pass);
  }
  TransferTime transfer(double bytes, Rank from, Rank to) const override {
    return is_free(StepPart::sends) ? TransferTime{} : own_->transfer(bytes, from, to);
  }
  std::optional<TransferTime> collective(CollectiveKind kind, double bytes,
                                         const Holders& holders) const override {
    if (is_free(StepPart::sums)) return TransferTime{};
    return own_->collective(kind, bytes, holders);
  }
  std::optional<double> peak_flops() const override { return own_->peak_flops(); }
  Network network() const override {
    return is_free(StepPart::sends) ? Network{} : own_->network();
  }
  Route route(const Link& link) const override { return own_->route(link); }

 private:
  bool is_free(StepPart part) const {
    const auto last = removed.begin() + static_cast<std::ptrdiff_t>(parts_);
    return std::find(removed.begin(), last, part) != last;
  }
  Layer freed(Layer layer) const {
    std::erase_if(layer.work.collectives,
                  [&](const Collective& collective) { return is_free(part_of(collective.group)); });
    return layer;
  }

  std::shared_ptr<const HardwareModel> own_;
  std::size_t parts_;
};

struct Outcome {
  double step_us = 0;
  double busy_us = 0;  // of the mean rank
};

Outcome outcome_of(const Layout& layout, std::shared_ptr<const HardwareModel> hardware) {
  const auto run = Simulation(layout, std::move(hardware)).simulate();
  if (const auto* finding = std::get_if<Finding>(&run)) throw InputError(finding->text);
  const auto& [plan, timeline, peak, batch, replica] = std::get<Simulated>(run);
  const Report report = summarize_times(plan.plan, timeline);
  Outcome outcome{to_us(report.makespan)};
  for (const RankReport& rank : report.ranks) outcome.busy_us += to_us(rank.busy);
  outcome.busy_us /= plan.plan.ranks;
  return outcome;
}

}  // namespace

std::string_view text(StepPart part) {
  constexpr std::array<std::string_view, step_parts> names{
      "compute",       "tensor traffic",       "context traffic", "expert traffic",
      "sums, gathers", "sends between stages", "recomputation",   "bubble"};
  return names[static_cast<std::size_t>(part)];
}

StepSplit split_step(const Scenario& scenario, const Catalogue& catalogue,
                     std::shared_ptr<Clusters> clusters) {
  Layout layout =
      with_codecs(settle(scenario, {.catalogue = &catalogue, .clusters = std::move(clusters)}));
  const auto hardware = hardware_of(layout);
  StepSplit split{};
  const auto part = [&](StepPart one) -> double& { return split[static_cast<std::size_t>(one)]; };
  Outcome last = outcome_of(layout, hardware);
  for (std::size_t parts = 1; parts <= removed.size(); ++parts) {
    const Outcome next = outcome_of(layout, std::make_shared<Without>(hardware, parts));
    part(removed[parts - 1]) = last.step_us - next.step_us;
    last = next;
  }
  part(StepPart::compute) = last.busy_us;
  part(StepPart::bubble) = last.step_us - last.busy_us;
  return split;
}

}  // namespace penstock
