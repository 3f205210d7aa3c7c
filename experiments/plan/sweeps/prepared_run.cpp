#include "experiments/plan/sweeps/prepared_run.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "experiments/run/layout/stage_demand.hpp"
#include "experiments/run/layout/training.hpp"
#include "hardware_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/events.hpp"

namespace penstock {

PreparedRun::PreparedRun(Layout layout, BriefRun run, PeakBytes peaks,
                         const std::vector<CostKnob>& knobs)
    : layout_(std::move(layout)),
      run_(std::move(run)),
      peaks_(std::move(peaks)),
      new_links_(std::any_of(knobs.begin(), knobs.end(),
                             [](const CostKnob& knob) { return knob.of_link; })),
      new_demand_(std::any_of(knobs.begin(), knobs.end(),
                              [](const CostKnob& knob) { return knob.changes_bytes(); })),
      hardware_(find_named(cost_model_entries(), layout_.hardware.cost_model)
                    ->make(layout_.hardware.spec)),
      demand_(demand_of(run_.priced.plan, layout_.model, layout_.partition, training_of(layout_))) {
}

void PreparedRun::price_anew() {
  if (new_links_) {
    hardware_ =
        find_named(cost_model_entries(), layout_.hardware.cost_model)->make(layout_.hardware.spec);
  }
  if (new_demand_) {
    demand_ = demand_of(run_.priced.plan, layout_.model, layout_.partition, training_of(layout_));
  }
  run_.priced.costs =
      price(run_.priced.plan, layout_.model, layout_.partition, *hardware_, demand_);
}

std::optional<SweepResult> PreparedRun::with(const std::vector<CostKnob>& knobs,
                                             const std::vector<double>& values) {
  for (std::size_t i = 0; i < knobs.size(); ++i) knobs[i].set(layout_, values[i]);
  try {
    price_anew();
  } catch (const InputError&) {
    return std::nullopt;
  }
  RunOutcome outcome = simulate(run_.priced, std::move(run_.timeline));
  if (std::holds_alternative<Standstill>(outcome)) {
    run_.timeline = {};
    return std::nullopt;
  }
  run_.timeline = std::get<Timeline>(std::move(outcome));
  SweepResult result = sweep_result(layout_, run_, peaks_);
  const auto& capacity = layout_.memory.capacity_bytes;
  const auto& peak = result.peak_memory_bytes;
  if (capacity && *std::max_element(peak.begin(), peak.end()) > *capacity) return std::nullopt;
  return result;
}

}  // namespace penstock
