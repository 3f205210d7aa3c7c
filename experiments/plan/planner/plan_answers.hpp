#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/plan/planner/planner.hpp"

namespace penstock {

/// Why the best layout of a restricted plan loses to the best of all: where both spend their time,
/// and what forces it. `roomy` is the restricted plan without a limit of memory.
std::string why_text(const LayoutPlan& all, const LayoutPlan& restricted, const LayoutPlan& roomy,
                     const Catalogue& catalogue, const std::string& what);

/// How the best layout moves when the hardware changes.
std::string change_text(const LayoutPlan& before, const LayoutPlan& after,
                        const std::string& change);

/// The stacks that list the device of a plan.
std::vector<std::string> stacks_listing(const LayoutPlan& plan, const Catalogue& catalogue);
/// The best layout on each of these stacks, and whether it is of the family of the best of all.
std::string stacks_text(const LayoutPlan& all, const std::vector<LayoutPlan>& plans);

/// The best layout on each of several machines, as a table; ratios are to the first.
std::string machines_text(const std::vector<LayoutPlan>& plans);
nlohmann::ordered_json machines_json(const std::vector<LayoutPlan>& plans);

}  // namespace penstock
