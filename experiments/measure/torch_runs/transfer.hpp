#pragma once

#include <string>
#include <variant>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/measure/torch_runs/torch_layout.hpp"
#include "experiments/measure/torch_runs/torch_run.hpp"
#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// An order that was traced.
struct TracedOrder {
  RuntimeOrder order;
  MeasuredRun run;
  double around_us = 0;  // of a step, in front of its ops and behind
};

/// Predicts orders from the traces of some: one profile of them all, then a simulation.
class Transfer {
 public:
  /// Writes profile.json and run.json, the scenario of the first order, into the folder.
  Transfer(const std::vector<TracedOrder>& traced, const TorchFolder& folder);

  /// An order, priced by the profile; or why the profile does not price it.
  std::variant<PricedPlan, std::string> priced(const RuntimeOrder& order) const;
  /// What a step takes around its ops: the median of the orders.
  Time around() const { return around_; }

  const std::string& profile() const { return profile_; }
  const std::string& scenario() const { return scenario_; }

 private:
  std::string folder_;
  std::string profile_;
  std::string scenario_;
  HostCosts host_;
  double op_us_ = 0;  // of an op beyond its layers
  Time around_;
  RuntimeOrder finest_;  // whose stages are the layers of the profile
};

}  // namespace penstock
