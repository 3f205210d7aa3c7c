#pragma once

#include <cstdint>
#include <functional>
#include <variant>

#include "sim/costs/chance.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

/// The most data replicas drawn; with more, the slowest may be slower still.
constexpr std::uint32_t most_drawn_replicas = 256;

using CostsOfReplica = std::function<Costs(std::uint32_t replica)>;

/// The plan with draw `number` of the first data replica's costs, as from `draw`. When chance makes
/// replicas differ, each of them is drawn and run: reductions over all of them wait for the
/// slowest, and all-gathers for the last update. A wait is added to the latency of its task, since
/// it occupies no link. Returns the standstill of a replica that cannot finish. `costs_of`: the
/// costs of each replica, where replicas have different microbatches; called once for each. The
/// plan then has the costs of the replica that takes longest.
std::variant<PricedPlan, Standstill> draw_among_replicas(PricedPlan priced, const Chance& chance,
                                                         std::uint32_t number,
                                                         std::uint32_t replicas,
                                                         const CostsOfReplica& costs_of = {});

}  // namespace penstock
