#include "sim/order/order_fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "sim/base/limits.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {
namespace {

/// The passes seen of each (stage, microbatch), as bit sets.
class Seen {
 public:
  Seen(const Schedule& schedule, const Placement& placement, const MicrobatchColumns& columns)
      : columns_(columns), chain_(columns.count(), no_chain) {
    // A complete order fills at least 1/`chains` of this table; an order that would leave most of a
    // huge table empty gets a map instead.
    const std::uint64_t pairs = std::uint64_t{placement.stage_count()} * columns.count();
    if (pairs <= Limits::chains * schedule.actions()) table_.resize(pairs);
  }

  bool has(Stage stage, std::uint32_t column, Pass pass) const {
    return (bits(at(stage, column)) & bit(pass)) != 0;
  }
  bool has(const Action& action, Pass pass) const {
    return has(action.stage, columns_.column_of(action.microbatch), pass);
  }
  void add(const Action& action) {
    const std::size_t pair = at(action.stage, columns_.column_of(action.microbatch));
    (table_.empty() ? map_[pair] : table_[pair]) |= bit(action.pass);
  }
  /// The chain of a microbatch; the first claim decides.
  std::uint32_t claim(Microbatch microbatch, std::uint32_t chain) {
    std::uint32_t& owner = chain_[columns_.column_of(microbatch)];
    if (owner == no_chain) owner = chain;
    return owner;
  }
  std::uint32_t owner(std::uint32_t column) const { return chain_[column]; }

 private:
  static constexpr std::uint32_t no_chain = UINT32_MAX;
  static constexpr std::uint8_t bit(Pass pass) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(pass));
  }
  std::uint8_t bits(std::size_t pair) const {
    if (!table_.empty()) return table_[pair];
    const auto found = map_.find(pair);
    return found == map_.end() ? std::uint8_t{0} : found->second;
  }
  std::size_t at(Stage stage, std::uint32_t column) const {
    return std::size_t{index(stage)} * columns_.count() + column;
  }

  const MicrobatchColumns& columns_;
  std::vector<std::uint8_t> table_;
  std::unordered_map<std::size_t, std::uint8_t> map_;
  std::vector<std::uint32_t> chain_;
};

std::string named(Pass pass, const Action& like) {
  return text(Action(pass, like.stage, like.microbatch));
}

std::string lacks(const Action& action, Pass needed) {
  return fmt::format("{} has no {} before it", text(action), named(needed, action));
}

/// The fault of an E, an L or a U.
std::string fault_of_upkeep(const Action& action, const Seen& seen) {
  const bool ended = seen.has(action, Pass::backward) || seen.has(action, Pass::backward_weight);
  if (action.pass == Pass::update) return ended ? "" : lacks(action, Pass::backward);
  const Pass needed = action.pass == Pass::evict ? Pass::forward : Pass::evict;
  if (!seen.has(action, needed)) return lacks(action, needed);
  if (!ended && !seen.has(action, Pass::backward_input)) return {};
  return fmt::format("{} follows the backward that reads the activation", text(action));
}

/// Recomputation must precede its backward.
std::string recompute_fault(const Action& action, const Seen& seen) {
  for (const Pass backward : {Pass::backward, Pass::backward_input}) {
    if (!seen.has(action, backward)) continue;
    return fmt::format("{} follows {}, which needs it", text(action), named(backward, action));
  }
  return {};
}

/// The fault of an action after those before it in its row; empty if there is none.
std::string fault_of(const Action& action, const Seen& seen) {
  const Pass pass = action.pass;
  if (seen.has(action, pass)) return fmt::format("{} occurs twice", text(action));
  if (pass == Pass::forward) return {};
  if (pass > Pass::recompute) return fault_of_upkeep(action, seen);
  if (!seen.has(action, Pass::forward)) return lacks(action, Pass::forward);
  if (seen.has(action, Pass::evict) && !seen.has(action, Pass::load)) {
    return lacks(action, Pass::load);
  }
  if (pass == Pass::recompute) return recompute_fault(action, seen);
  const Pass other = pass == Pass::backward ? Pass::backward_input : Pass::backward;
  if (seen.has(action, other)) {
    return fmt::format(
        "{} is mixed with {}; the backward of one microbatch is either B, or I and W", text(action),
        named(other, action));
  }
  if (pass == Pass::backward_weight && !seen.has(action, Pass::backward_input)) {
    return lacks(action, Pass::backward_input);
  }
  return {};
}

/// The parts of an overlap cell start together, so neither may need the other.
std::string shared_cell_fault(const Action& first, const Action& second) {
  if (first.stage != second.stage || first.microbatch != second.microbatch) return {};
  return fmt::format("{} shares a cell with {}, which it needs", text(second), text(first));
}

std::string misplaced(const Action& action, Rank rank, const Placement& placement) {
  if (index(action.stage) >= placement.stage_count()) {
    return fmt::format("{} names stage {}; stages are 0 to {}", text(action), index(action.stage),
                       placement.stage_count() - 1);
  }
  const Rank home = placement.rank_of(action.stage, action.microbatch);
  if (home == rank) return {};
  return fmt::format("{} is on rank {}, but stage {} is on rank {}", text(action), index(rank),
                     index(action.stage), index(home));
}

std::optional<OrderFault> fault_in_cells(const Schedule& schedule, const Placement& placement,
                                         Seen& seen) {
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    const auto& order = schedule.on(rank);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      const Action& action = order[i];
      std::string fault = misplaced(action, rank, placement);
      if (fault.empty()) fault = fault_of(action, seen);
      if (fault.empty() && i > 0 && order[i - 1].with_next)
        fault = shared_cell_fault(order[i - 1], action);
      if (fault.empty()) {
        const std::uint32_t chain = placement.chain_of(action.stage);
        if (const std::uint32_t owner = seen.claim(action.microbatch, chain); owner != chain) {
          fault = fmt::format("{} runs microbatch {} in chain {}, but chain {} already runs it",
                              text(action), index(action.microbatch), chain, owner);
        }
      }
      if (!fault.empty()) return OrderFault{rank, i, std::move(fault)};
      seen.add(action);
    }
  }
  return std::nullopt;
}

/// The pass that (stage, column) lacks, if any.
std::optional<Pass> missing(const Seen& seen, Stage stage, std::uint32_t column, bool backward) {
  if (!seen.has(stage, column, Pass::forward)) return Pass::forward;
  const bool needed = backward || seen.has(stage, column, Pass::recompute);
  if (!needed || seen.has(stage, column, Pass::backward)) return std::nullopt;
  if (!seen.has(stage, column, Pass::backward_input)) return Pass::backward;
  if (!seen.has(stage, column, Pass::backward_weight)) return Pass::backward_weight;
  return std::nullopt;
}

}  // namespace

std::optional<OrderFault> find_order_fault(const Schedule& schedule, const Placement& placement,
                                           std::uint32_t frozen) {
  if (schedule.ranks() != placement.ranks()) {
    return OrderFault{{},
                      0,
                      fmt::format("ranks of the order: {}, of its stages: {}", schedule.ranks(),
                                  placement.ranks())};
  }
  if (schedule.actions() == 0) return OrderFault{{}, 0, "the order has no actions"};
  const MicrobatchColumns columns(schedule);
  Seen seen(schedule, placement, columns);
  if (auto fault = fault_in_cells(schedule, placement, seen)) return fault;
  const bool has_backward = schedule.has_backward();
  std::optional<OrderFault> first;
  for (Stage stage : placement.stages()) {
    const bool backward = has_backward && placement.position(stage) >= frozen;
    for (std::uint32_t column = 0; column < columns.count(); ++column) {
      if (seen.owner(column) != placement.chain_of(stage)) continue;
      const auto pass = missing(seen, stage, column, backward);
      if (!pass) continue;
      const Action action(*pass, stage, columns.microbatch_at(column));
      const Rank rank = placement.rank_of(stage, action.microbatch);
      if (first && first->rank <= rank) break;
      first = OrderFault{rank, static_cast<std::uint32_t>(schedule.on(rank).size()),
                         fmt::format("{} is missing", text(action))};
      if (rank == Rank{0}) return first;
      break;
    }
  }
  return first;
}

}  // namespace penstock
