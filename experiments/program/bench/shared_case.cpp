#include "experiments/program/bench/shared_case.hpp"

#include "experiments/run/layout/stage_demand.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/plan/lower.hpp"

namespace penstock {

Case shared_case(std::uint32_t ranks, std::uint32_t microbatches) {
  const ScheduleEntry& entry = *find_named(schedule_entries(), "1f1b");
  Case made;
  made.placement = entry.place(ranks, 1);
  made.schedule = make_schedule(entry, made.placement, {microbatches, {}});
  for (LayerIndex layer : Numbers<LayerIndex>(ranks)) {
    made.model.layers.push_back(
        {.forward_us = 1000, .backward_us = 2000, .activation_bytes = 8.0 * 1024 * 1024});
    made.partition.stages.push_back({layer});
  }
  made.model.connect_as_chain();
  made.hardware = find_named(cost_model_entries(), "ideal")
                      ->make({.latency_us = 2, .bandwidth_bytes_per_s = 25e9});
  return made;
}

Plan lowered(const Case& of) { return std::get<Plan>(lower(of.schedule, of.placement)); }

Costs priced(const Case& of, const Plan& plan) {
  return price(plan, of.model, of.partition, *of.hardware);
}

PricedPlan priced(const Case& of) {
  PricedPlan all{.plan = lowered(of), .costs = {}};
  all.costs = priced(of, all.plan);
  return all;
}

}  // namespace penstock
