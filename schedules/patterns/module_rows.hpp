#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Stages in front of those of an order, which have ranks of their own or share those of the order.
struct ModuleRows {
  std::uint32_t stages = 1;
  std::uint32_t ranks_in_turn = 1;  // that hold each, and take microbatches in turn
  bool shares_ranks = false;        // every rank of the order holds the one stage
  bool frozen = false;              // without backwards
};

/// The placement of an order with a module in front: the stages of the order move behind those of
/// the module, and ranks of its own follow those of the order. Throws RuleError for an order with
/// several chains, and where its first stage has replicas.
Placement with_module(const Placement& placement, const ModuleRows& module);

/// The order with a module in front. Ranks of its own follow the first stage of the order: a stage
/// runs one forward ahead of it for each stage from there on, as 1F1B does. Ranks that are shared
/// run all forwards before their other work, and all backwards behind it.
Schedule with_module(const Schedule& order, const Placement& placement, const ModuleRows& module);

/// Times of a stage in microseconds.
struct StageDurations {
  std::array<double, pass_count> passes{};  // by `Pass`
  double handed_us = 0;  // from the end of a pass until the next stage has what it put out

  double of(Pass pass) const { return passes[static_cast<std::size_t>(pass)]; }
};

/// The order with a module that shares its ranks, in their bubbles: a rank runs the module while
/// the next of its other actions waits, and before it where the first stage is about to lack
/// input. Tries several orders, that of `with_module` among them, and returns the one with the
/// shortest makespan, transfers without contention. `times`: by stage, the module's first.
Schedule with_module_in_bubbles(const Schedule& order, const Placement& placement,
                                const ModuleRows& module, const std::vector<StageDurations>& times);

}  // namespace penstock
