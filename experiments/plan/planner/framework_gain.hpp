#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/plan/planner/planner.hpp"

namespace penstock {

/// What the rules of a framework cost.
struct FrameworkGain {
  std::optional<JudgedLayout> best;  // faster than all of the framework's; empty: none
  std::string why;                   // the rule of the framework that it breaks
  std::optional<double> share;       // of the framework's step time; empty: nothing of it fits
  bool stopped = false;              // by the time limit: there may be a faster one
};

/// Plans once more without the rules of the framework, for the best layout alone. Empty for a plan
/// of any framework.
std::optional<FrameworkGain> framework_gain(const LayoutPlan& plan, const Catalogue& catalogue,
                                            PlannerOptions options);

/// One line: "megatron does not run the schedule; a layout beyond that would gain 3.1 %: …".
/// Empty for a plan of any framework.
std::string gain_text(const LayoutPlan& plan, const std::optional<FrameworkGain>& gain);
/// null for a plan of any framework.
nlohmann::ordered_json gain_json(const LayoutPlan& plan, const std::optional<FrameworkGain>& gain);

}  // namespace penstock
