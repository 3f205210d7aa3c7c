#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/patterns/options.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Forward and backward in turn after a warm-up, which is 1F1B's row and PipeDream's alike.
struct Alternation {
  Stage stage;
  std::uint32_t warm_up;       // forwards in front of the first pair
  std::uint32_t microbatches;  // of the whole order; the row has every `step`-th from `first` on
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  std::uint32_t update_every = 0;  // an update behind so many backwards, and the last; 0: none
};
std::vector<Action> alternating_row(const Alternation& row);

/// 1F1B: each stage warms up with as many forwards as there are stages behind it. Throws RuleError
/// for several stages a rank, and for replicas.
Schedule one_f_one_b_order(std::string_view rule, const Placement& placement,
                           std::uint32_t microbatches, std::uint32_t update_every = 0);

}  // namespace penstock
