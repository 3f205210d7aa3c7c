#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/extras.hpp"

namespace penstock {

/// How many actions an order has, counted once: what lowering asks first would each be a pass over
/// the order.
class ActionCounts {
 public:
  ActionCounts(const Schedule& schedule, const Placement& placement)
      : of_stage_(std::size_t{placement.stage_count()} * pass_count), of_pass_(pass_count) {
    for (Rank rank : Numbers<Rank>(schedule.ranks())) {
      for (const Action& action : schedule.on(rank)) ++of_stage_[at(action.stage, action.pass)];
    }
    for (std::size_t i = 0; i < of_stage_.size(); ++i) of_pass_[i % pass_count] += of_stage_[i];
  }

  std::uint64_t of(Stage stage, Pass pass) const { return of_stage_[at(stage, pass)]; }
  bool has(Pass pass) const { return of_pass_[static_cast<std::size_t>(pass)] > 0; }
  bool has_backward() const { return has(Pass::backward) || has(Pass::backward_input); }
  bool has_backward(Stage stage) const {
    return of(stage, Pass::backward) > 0 || of(stage, Pass::backward_input) > 0;
  }

 private:
  static std::size_t at(Stage stage, Pass pass) {
    return std::size_t{index(stage)} * pass_count + static_cast<std::size_t>(pass);
  }

  std::vector<std::uint64_t> of_stage_;  // by (stage, pass)
  std::vector<std::uint64_t> of_pass_;
};

/// The role of recomputation in an action.
enum class Recompute : std::uint8_t {
  none,    // its activation is kept from F on
  before,  // an R restores it
  within,  // the action itself starts with recomputation
};

/// Which activations of an order are recomputed, and by whom: R's in the order, or R's added by
/// lowering.
class Recomputation {
 public:
  Recomputation(const Schedule& schedule, const Placement& placement, const ActionCounts& counts,
                const MicrobatchColumns& columns, const Recomputing& recomputing);

  /// Whether the activation that an action makes or reads is made again.
  bool of(const Action& action) const;
  /// Whether lowering is to make an activation again for this action: a B or I whose order has no
  /// R.
  bool adds(const Action& action) const;
  /// Whether activations of a stage are recomputed when the order does not say.
  bool of_stage(Stage stage) const {
    return has_backward_ && recomputing_.of_stage(placement_.position(stage));
  }
  bool early() const { return recomputing_.early; }
  /// Whether any activation is recomputed.
  bool any() const { return any_; }

 private:
  bool in_order(const Action& action) const;

  const Placement& placement_;
  const MicrobatchColumns& columns_;
  const Recomputing& recomputing_;
  bool has_backward_;
  bool any_ = false;
  std::vector<bool> in_order_;      // by (stage, column): the order has an R; empty: none has
  std::vector<std::int64_t> last_;  // by chain: its highest microbatch, if excluded
};

}  // namespace penstock
