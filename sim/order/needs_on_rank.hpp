#pragma once

#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The passes of the same stage and microbatch that stand before a pass wherever the rank runs
/// them.
inline std::vector<Pass> own_needs(Pass pass) {
  switch (pass) {
    case Pass::backward:
    case Pass::backward_input:
      return {Pass::forward, Pass::load, Pass::recompute};
    case Pass::recompute:
      return {Pass::forward, Pass::load};
    case Pass::backward_weight:
      return {Pass::backward_input};
    case Pass::evict:
      return {Pass::forward};
    case Pass::load:
      return {Pass::evict};
    default:
      return {};
  }
}

/// Calls `visit(stage, pass)` for what another stage hands to a pass of this one, without a
/// transfer where one rank runs both: an F of the stage before, or B or I of the stage after, of
/// the same microbatch.
template <class Visitor>
void for_each_handed_over(const Placement& placement, Stage stage, Pass pass, Visitor visit) {
  if (pass == Pass::forward) {
    if (const auto before = placement.before(stage)) visit(*before, Pass::forward);
  } else if (gives_gradient(pass)) {
    const auto after = placement.after(stage);
    if (!after) return;
    visit(*after, Pass::backward);
    visit(*after, Pass::backward_input);
  }
}

}  // namespace penstock
