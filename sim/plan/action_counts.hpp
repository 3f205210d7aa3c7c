#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

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

 private:
  static std::size_t at(Stage stage, Pass pass) {
    return std::size_t{index(stage)} * pass_count + static_cast<std::size_t>(pass);
  }

  std::vector<std::uint64_t> of_stage_;  // by (stage, pass)
  std::vector<std::uint64_t> of_pass_;
};

}  // namespace penstock
