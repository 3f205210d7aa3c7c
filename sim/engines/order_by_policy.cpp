#include "sim/engines/order_by_policy.hpp"

#include <utility>

#include "sim/engines/dispatcher.hpp"
#include "sim/engines/stepwise.hpp"

namespace penstock {
namespace {

void add_backwards(const Placement& placement, const std::vector<Stage>& chain,
                   Microbatch microbatch, bool split, Schedule& schedule) {
  for (auto stage = chain.rbegin(); stage != chain.rend(); ++stage) {
    auto& order = schedule.on(placement.rank_of(*stage, microbatch));
    order.emplace_back(split ? Pass::backward_input : Pass::backward, *stage, microbatch);
    if (split) order.emplace_back(Pass::backward_weight, *stage, microbatch);
  }
}

/// The actions of a rank in the order in which they ran.
void add_order(const Plan& plan, const std::vector<TaskId>& tasks, Schedule& schedule) {
  for (const TaskId task : tasks) {
    const WorkClass& work = plan.class_of(task);
    // Lowering puts R before its backward.
    if (is_transfer(work.pass) || work.pass == Pass::recompute) continue;
    schedule.on(Rank{work.resource}).emplace_back(work.pass, work.stage, plan.microbatch[task]);
  }
}

}  // namespace

Schedule all_work(const Placement& placement, std::uint32_t microbatches, bool split_backward) {
  Schedule schedule(placement.ranks());
  const auto& chains = placement.chains();
  const auto chain_of = [&](Microbatch m) -> const std::vector<Stage>& {
    return chains[index(m) % chains.size()];
  };
  for (Microbatch microbatch : Numbers<Microbatch>(microbatches)) {
    for (Stage stage : chain_of(microbatch)) {
      schedule.on(placement.rank_of(stage, microbatch))
          .emplace_back(Pass::forward, stage, microbatch);
    }
  }
  for (Microbatch microbatch : Numbers<Microbatch>(microbatches)) {
    add_backwards(placement, chain_of(microbatch), microbatch, split_backward, schedule);
  }
  return schedule;
}

std::variant<DecidedOrder, Standstill> order_by_policy(const PricedPlan& priced,
                                                       const Placement& placement,
                                                       const Policy& policy) {
  Dispatcher dispatcher(priced.plan, placement, policy);
  std::vector<TaskId> ran;
  RunOutcome outcome = run_stepwise(priced, {}, &dispatcher, &ran);
  if (auto* halt = std::get_if<Standstill>(&outcome)) return std::move(*halt);
  DecidedOrder decided{Schedule(priced.plan.ranks), std::get<Timeline>(std::move(outcome))};
  add_order(priced.plan, ran, decided.schedule);
  return decided;
}

}  // namespace penstock
