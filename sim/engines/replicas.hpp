#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "sim/costs/chance.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The most data replicas drawn; with more, the slowest may be slower still.
constexpr std::uint32_t most_drawn_replicas = 256;

using CostsOfReplica = std::function<Costs(std::uint32_t replica)>;

/// What replicas do together, besides reductions of gradients and gathered weights: none goes on
/// before the last of those that take part has come to it.
struct Together {
  std::array<bool, pass_count> of_all{};  // passes of any stage
  // By model stage: how many replicas in a row exchange tokens in its F, B and I, since they hold
  // its experts once together. Empty, 0 and 1: none does.
  std::vector<std::uint32_t> exchanging = {};

  bool any() const;
  /// How many replicas in a row, of so many, do the tasks of a class together.
  std::uint32_t replicas_of(const Plan& plan, const WorkClass& work, std::uint32_t replicas) const;
};

/// How many data replicas of a plan are drawn: fewer than `most_drawn_replicas` of a very large
/// one.
std::uint32_t drawn_replicas(const Plan& plan, std::uint32_t replicas);

/// A data replica, with its waits for the others.
struct DrawnReplica {
  PricedPlan priced;
  std::uint32_t replica = 0;
};

/// The plan with draw `number` of a data replica's costs, as from `draw`. When chance makes
/// replicas differ, each of them is drawn, and what they do together waits for the last of them. A
/// wait of a transfer is added to its latency, since it occupies no link; that of a pass to its
/// duration. Returns the standstill of a replica that cannot finish. `costs_of`: the costs of each
/// replica, where replicas have different microbatches; called once for each. The one returned
/// ends last; of equals, it is the first, or with `costs_of` or passes together the slowest without
/// the others.
std::variant<DrawnReplica, Standstill> draw_among_replicas(PricedPlan priced, const Chance& chance,
                                                           std::uint32_t number,
                                                           std::uint32_t replicas,
                                                           const Together& together = {},
                                                           const CostsOfReplica& costs_of = {});

}  // namespace penstock
