#pragma once

#include <cstdint>
#include <string>

#include "experiments/plan/planner/bounds/plan_base.hpp"
#include "experiments/plan/planner/space/orders.hpp"

namespace penstock {

/// What the bounds of a layout may rest on.
enum class BoundBy : std::uint8_t {
  even_cut,     // known before anything is priced
  priced_cut,   // made by prices, with those of the frame
  equal_parts,  // of the work: the cut follows the order of actions, or cells are fused
  nothing,      // the scenario has settings that bounds do not cover
};

BoundBy bound_by(const PlanBase& base, const OrderChoice& order, const std::string& partition);

/// Whether the two parts of an overlap cell hide each other.
bool fuses(const PlanBase& base, const OrderChoice& order);

}  // namespace penstock
