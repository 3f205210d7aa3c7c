#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "experiments/plan/planner/best_first.hpp"
#include "experiments/run/simulation.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_counts = 3;    // of own devices that are tried
constexpr std::size_t most_families = 3;  // of layouts of the other layers, beside each

/// The share of a model's passes that its module takes, were all on one device.
double share_of_module(const PlanBase& base) {
  const auto hardware = hardware_of(base.settled);
  double all = 0, own = 0;
  for (std::size_t i = 0; i < base.reduced_layer.size(); ++i) {
    const Layer& layer = base.settled.model.layers[base.reduced_layer[i]];
    double us = 0;
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      us += hardware->compute_us(layer, pass).value_or(0);
    }
    all += us;
    if (base.scenario.model.spec.blocks[i].module == base.task.module) own += us;
  }
  return all > 0 ? own / all : 0;
}

/// Numbers of own devices, a sixteenth of a power of two apart: first those with which the longer
/// of both parts is shortest if devices share their work evenly.
std::vector<std::uint32_t> own_device_counts(std::uint32_t devices, double share) {
  const std::uint32_t step = std::max(1U, std::bit_floor(devices) / 16);
  std::vector<std::uint32_t> counts;
  for (std::uint32_t own = step; own <= devices / 2; own += step) counts.push_back(own);
  const auto longer = [&](std::uint32_t own) {
    return std::max(share / own, (1 - share) / (devices - own));
  };
  std::ranges::stable_sort(
      counts, [&](std::uint32_t one, std::uint32_t other) { return longer(one) < longer(other); });
  return counts;
}

}  // namespace

/// Searches layouts of the other layers on the rest of the devices, and tries the module beside the
/// best of them. False if none is legal, or it goes with none.
bool BestFirst::place_on_own_devices(std::uint32_t devices) {
  const PlanBase base =
      plan_base(task_beside_module(base_.task, base_.scenario, base_.task.devices - devices),
                base_.catalogue);
  const LayoutSpace space = space_of(base.task, options_.space);
  PlannerOptions options = options_;
  options.best = options.drawn = most_families;
  options.front = false;
  options.on_progress = [&](PlanProgress progress) {
    progress.simulated += plan_.simulated;
    report(progress);
  };
  BestFirst others(base, space, options);
  others.begin_ = begin_;
  others.most_us_ = fitting_.at(wanted());
  others.found_elsewhere_ = fitting_.at(1) < std::numeric_limits<double>::infinity();
  others.start();
  others.search(Aim::best);
  others.refine_cuts();
  others.end_search();
  plan_.beside += others.plan_.simulated;
  plan_.stopped = plan_.stopped || others.plan_.stopped;
  const double bound_us = others.plan_.slower_bound_us;
  plan_.unplaced = bound_us == 0;  // nothing is known of these
  if (!plan_.unplaced) plan_.slower_bound_us = std::min(plan_.slower_bound_us, bound_us);
  std::vector<JudgedLayout> best = others.listed();
  std::erase_if(
      best, [&](const JudgedLayout& one) { return to_us(one.trial.makespan) > others.most_us_; });
  const std::uint64_t legal = plan_.legal;
  refine(best, [&](const LayoutChoice& layout) {
    std::vector<LayoutChoice> placed;
    for (ModuleChoice& module : own_device_choices(base_.task.module, devices, layout)) {
      placed.push_back(layout);
      placed.back().module = std::move(module);
    }
    return placed;
  });
  return space.legal > 0 && (best.empty() || plan_.legal > legal);
}

/// A layout without the module takes as long at least, but for where its links and groups lie: what
/// is slower without it than the listed ones is left out.
void BestFirst::place_on_own_devices() {
  if (space_.module.empty()) return;
  std::size_t tried = 0;
  for (const std::uint32_t devices :
       own_device_counts(base_.task.devices, share_of_module(base_))) {
    if (tried == most_counts) return;
    if (!has_time()) {
      plan_.stopped = plan_.unplaced = true;
      return;
    }
    if (place_on_own_devices(devices)) ++tried;
  }
}

}  // namespace penstock
