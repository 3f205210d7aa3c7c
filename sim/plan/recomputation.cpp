#include "sim/plan/recomputation.hpp"

#include <algorithm>

namespace penstock {

Recomputation::Recomputation(const Schedule& schedule, const Placement& placement,
                             const ActionCounts& counts, const MicrobatchColumns& columns,
                             const Recomputing& recomputing)
    : placement_(placement),
      columns_(columns),
      recomputing_(recomputing),
      has_backward_(counts.has_backward()),
      last_(placement.chains().size(), -1) {
  const std::vector<bool>& stages = recomputing.stages;
  any_ = counts.has(Pass::recompute) || std::ranges::find(stages, true) != stages.end();
  if (!any_) return;
  if (counts.has(Pass::recompute)) {
    in_order_.resize(std::size_t{placement.stage_count()} * columns.count());
  }
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      if (action.pass == Pass::recompute) {
        in_order_[std::size_t{index(action.stage)} * columns.count() +
                  columns.column_of(action.microbatch)] = true;
      }
      if (!recomputing.except_last) continue;
      std::int64_t& last = last_[placement.chain_of(action.stage)];
      last = std::max(last, std::int64_t{index(action.microbatch)});
    }
  }
}

bool Recomputation::in_order(const Action& action) const {
  return !in_order_.empty() && in_order_[std::size_t{index(action.stage)} * columns_.count() +
                                         columns_.column_of(action.microbatch)];
}

bool Recomputation::of(const Action& action) const {
  if (in_order(action)) return true;
  return of_stage(action.stage) && recomputing_.of_microbatch(action.stage, action.microbatch) &&
         last_[placement_.chain_of(action.stage)] != std::int64_t{index(action.microbatch)};
}

bool Recomputation::adds(const Action& action) const {
  return gives_gradient(action.pass) && !in_order(action) && of(action);
}

}  // namespace penstock
