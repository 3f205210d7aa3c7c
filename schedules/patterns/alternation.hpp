#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "schedules/patterns/rules.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Warm-up, then one forward and one backward in turn: the row of 1F1B and of PipeDream.
struct Alternation {
  Stage stage;
  std::uint32_t warm_up;       // forwards before the first pair
  std::uint32_t microbatches;  // in the whole order; the row has every `step`-th from `first` on
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  std::uint32_t update_every =
      0;  // an update after this many backwards, and after the last; 0: none
};
std::vector<Action> alternating_row(const Alternation& row);

/// 1F1B: each stage warms up with `reach` forwards for each later stage. Throws RuleError for
/// several stages per rank and for replicas.
Schedule one_f_one_b_order(std::string_view rule, std::uint32_t reach, const Placement& placement,
                           std::uint32_t microbatches, std::uint32_t update_every = 0);

/// A row with each backward split into I and W. I takes the place of the backward; once `delay` of
/// them are done, each is followed by the oldest pending W.
std::vector<Action> with_split_backwards(const std::vector<Action>& row, std::uint32_t delay);

/// One microbatch after the other, through all stages of its chain and back: an order that cannot
/// deadlock. Chains take the microbatches in turn. `splits`: whether a backward is I and W.
Schedule one_at_a_time(const Placement& placement, std::uint32_t microbatches,
                       const std::function<bool(Stage stage, Microbatch microbatch)>& splits);

/// The handcrafted zero-bubble orders: 1f1b with the backward split, and each W `reach` times r I
/// behind its own I.
Schedule zero_bubble_order(std::string_view rule, std::uint32_t reach, const Placement& placement,
                           const ScheduleOptions& options);

}  // namespace penstock
