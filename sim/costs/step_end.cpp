#include "sim/costs/step_end.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/costs/alike_in_row.hpp"
#include "sim/costs/layer_turns.hpp"

namespace penstock {
namespace {

/// The forward times of all layers.
std::vector<double> forwards_us(const CostInputs& inputs) {
  std::vector<double> all;
  AlikeInRow times(inputs.hardware);
  for (const Layer& layer : inputs.model.layers) {
    all.push_back(times.us(layer, [&](const Layer& one) {
      return inputs.hardware.compute_us(one, Pass::forward).value_or(0);
    }));
  }
  return all;
}

/// The first forward of a model stage in the next step, whose weights take this long to gather.
/// Layers that state their times may each stand for many, which overlap.
NextForward next_forward(std::uint32_t stage, double gather_us, const CostInputs& inputs,
                         const std::vector<double>& forward_us) {
  const std::vector<Layer>& layers = inputs.model.layers;
  NextForward next;
  for (std::uint32_t before = 0; before < stage; ++before) {
    for (const LayerIndex layer : inputs.partition.stages[before]) {
      next.start_us += forward_us[index(layer)];
    }
  }
  const bool by_layer = inputs.demand.layers_ahead.has_value();
  double bytes = 0;
  for (const LayerIndex layer : inputs.partition.stages[stage]) {
    bytes += layers[index(layer)].gathered_bytes();
  }
  const double us_per_byte = gather_us / std::max(bytes, 1.0);
  for (const LayerIndex layer : inputs.partition.stages[stage]) {
    const double own_us = by_layer ? layers[index(layer)].gathered_bytes() * us_per_byte : 0;
    next.turns.push_back({.gather_us = own_us, .compute_us = forward_us[index(layer)]});
  }
  if (!by_layer) next.turns.push_back({.gather_us = gather_us});
  return next;
}

/// Gathers of new weights that overlap the next step's first forwards take as long as those wait.
void hide_gathers(const CostInputs& inputs, ClassTimes times) {
  const Plan& plan = inputs.plan;
  std::map<std::uint32_t, std::vector<std::size_t>> by_rank;  // classes
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    if (work.pass != Pass::gather_weights) continue;
    by_rank[index(plan.link(work.resource).from)].push_back(c);
  }
  if (by_rank.empty()) return;
  times.hidden.resize(plan.classes.size());
  const std::vector<double> forward_us = forwards_us(inputs);
  for (auto& [rank, classes] : by_rank) {
    std::ranges::stable_sort(classes, [&](std::size_t a, std::size_t b) {
      return inputs.stage_of(plan.classes[a]) < inputs.stage_of(plan.classes[b]);
    });
    std::vector<NextForward> stages;
    for (const std::size_t c : classes) {
      const double gather_us = to_us(times.duration[c] + times.latency[c]);
      stages.push_back(
          next_forward(inputs.stage_of(plan.classes[c]), gather_us, inputs, forward_us));
    }
    const std::vector<double> waits_us = waits_for_weights(stages);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      Time& latency = times.latency[classes[i]];
      Time& duration = times.duration[classes[i]];
      const Time all = duration + latency;
      const Time wait = waits_us[i] < to_us(all) ? from_us(waits_us[i]) : all;
      latency = std::min(latency, wait);
      times.hidden[classes[i]] = duration - (wait - latency);
      duration = wait - latency;
    }
  }
}

/// An update waits for a share of its stage's reductions and gathers where these overlap computing;
/// not for reductions that follow each backward.
void expose_sums(const CostInputs& inputs, ClassTimes times) {
  const Demand& demand = inputs.demand;
  const auto overlaps = [&](Pass pass) {
    return pass == Pass::gather_weights ? demand.gathers_overlap : demand.collectives_overlap;
  };
  std::map<std::pair<std::uint32_t, Stage>, Time> carried;  // by rank and stage
  const std::vector<WorkClass>& classes = inputs.plan.classes;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const WorkClass& work = classes[c];
    const bool counts =
        work.pass == Pass::gather_weights || (reduces_gradient(work.pass) && !demand.sums_each);
    if (!counts || !overlaps(work.pass)) continue;
    carried[{index(inputs.plan.link(work.resource).from), work.stage}] += times.duration[c];
  }
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].pass != Pass::update) continue;
    const auto found = carried.find({classes[c].resource, classes[c].stage});
    if (found == carried.end()) continue;
    times.duration[c] += from_us(demand.exposed.sums * to_us(found->second));
  }
}

}  // namespace

void set_step_end(const CostInputs& inputs, ClassTimes times) {
  if (inputs.demand.exposed.sums > 0) expose_sums(inputs, times);
  if (inputs.demand.gathers_overlap) hide_gathers(inputs, times);
}

}  // namespace penstock
