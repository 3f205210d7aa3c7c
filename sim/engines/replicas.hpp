#pragma once

#include <cstdint>
#include <variant>

#include "sim/costs/chance.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

/// So many data replicas are drawn; of more than these the slowest may be slower still.
constexpr std::uint32_t most_drawn_replicas = 256;

/// The plan with draw `number` of the costs of the first data replica, as `draw` gives them. Where
/// chance makes replicas differ, each of them is drawn and run: sums over all of them wait for the
/// slowest, and so do gatherings for the last update. A wait is part of the latency of its task,
/// for it occupies no link. Returns why a replica could not be finished, if one could not.
std::variant<PricedPlan, Standstill> draw_among_replicas(PricedPlan priced, const Chance& chance,
                                                         std::uint32_t number,
                                                         std::uint32_t replicas);

}  // namespace penstock
