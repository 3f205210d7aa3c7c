#pragma once

#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The passes of the same stage and microbatch that must precede a pass on its rank.
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

/// Calls `visit(stage, pass)` for each input of a pass from another stage: F of the previous stage,
/// or B or I of the next, of the same microbatch. When one rank runs both, no transfer is needed.
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
