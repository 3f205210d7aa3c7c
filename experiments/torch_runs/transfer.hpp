#pragma once

#include <string>
#include <variant>
#include <vector>

#include "experiments/measured_runs/measured_run.hpp"
#include "experiments/torch_runs/runtime_order.hpp"
#include "experiments/torch_runs/torch_folder.hpp"
#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// An order that was traced.
struct TracedOrder {
  RuntimeOrder order;
  MeasuredRun run;
};

/// Predicts orders from the traces of some: one profile of them all, then a simulation.
class Transfer {
 public:
  /// Writes profile.json and run.json, the scenario of the first order, into the folder.
  Transfer(const std::vector<TracedOrder>& traced, const TorchFolder& folder);

  /// An order, priced by the profile; or why the profile does not price it.
  std::variant<PricedPlan, std::string> priced(const RuntimeOrder& order) const;

  const std::string& profile() const { return profile_; }
  const std::string& scenario() const { return scenario_; }

 private:
  std::string folder_;
  std::string profile_;
  std::string scenario_;
  Time host_;            // between two ops
  RuntimeOrder finest_;  // whose stages are the layers of the profile
};

}  // namespace penstock
