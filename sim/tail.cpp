#include "sim/tail.hpp"

#include <algorithm>
#include <optional>

namespace penstock {
namespace {

constexpr std::uint32_t unnamed = UINT32_MAX;

/// The other end of the chain of a stage that is one of two ends.
std::optional<Stage> other_end(const Placement& placement, Stage stage) {
  const std::vector<Stage>& chain = placement.chains()[placement.chain_of(stage)];
  if (chain.size() < 2) return std::nullopt;
  if (stage == chain.front()) return chain.back();
  if (stage == chain.back()) return chain.front();
  return std::nullopt;
}

}  // namespace

TailTasks::TailTasks(const Schedule& schedule, const Placement& placement, const Tail& tail,
                     Plan& plan, WorkClasses& classes)
    : placement_(placement), tail_(tail), plan_(plan), classes_(classes) {
  if (tail.empty()) return;
  left_.resize(placement.slots());
  finished_.resize(placement.ranks());
  arriving_.resize(placement.slots());
  reduction_.assign(placement.slots(), unnamed);
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      if (!ends_activation(action.pass)) continue;
      ++left_[placement.slot_of(action.stage, action.microbatch)];
      ++gradients_;
    }
  }
}

std::uint64_t TailTasks::most_tasks() const {
  // A reduction, an update and a gathering each; ends of a chain tie with every replica at most.
  if (left_.empty()) return 0;
  return std::uint64_t{5} * placement_.slots() + (tail_.each ? gradients_ : 0);
}

void TailTasks::follow(const Action& action, TaskId task) {
  if (left_.empty() || !ends_activation(action.pass)) return;
  const std::uint32_t slot = placement_.slot_of(action.stage, action.microbatch);
  const bool last = --left_[slot] == 0;
  const Finished finished{action.stage, slot, action.microbatch};
  if (last || tail_.each) reduce(finished, task);
  if (!last) return;
  tie(finished, task);
  finished_[index(placement_.rank_of_slot(slot))].push_back(finished);
}

void TailTasks::reduce(const Finished& finished, TaskId producer) {
  if (!reduces(finished.stage)) return;
  std::uint32_t& work = reduction_[finished.slot];
  if (work == unnamed) {
    work = classes_.tail_transfer(Pass::reduce_gradient, finished.stage,
                                  {placement_.rank_of_slot(finished.slot), data_replicas});
  }
  arriving_[finished.slot].push_back(add_task(plan_, work, finished.microbatch, producer));
}

/// Replicas of the two ends pair up; those of the end with more share partners.
void TailTasks::tie(const Finished& finished, TaskId producer) {
  const auto other = tail_.ties ? other_end(placement_, finished.stage) : std::nullopt;
  if (!other) return;
  const std::uint32_t own = placement_.replicas(finished.stage);
  const std::uint32_t theirs = placement_.replicas(*other);
  for (Microbatch pair : Numbers<Microbatch>(std::max(own, theirs))) {
    if (placement_.slot_of(finished.stage, pair) != finished.slot) continue;
    const Rank from = placement_.rank_of_slot(finished.slot);
    const Rank to = placement_.rank_of(*other, pair);
    if (from == to) continue;
    const std::uint32_t work =
        classes_.tail_transfer(Pass::tie_gradient, finished.stage, {from, to});
    arriving_[placement_.slot_of(*other, pair)].push_back(
        add_task(plan_, work, finished.microbatch, producer));
  }
}

void TailTasks::finish() {
  if (!tail_.updates) return;
  for (const std::vector<Finished>& of_rank : finished_) {
    for (const Finished& finished : of_rank) update(finished);
  }
}

void TailTasks::update(const Finished& finished) {
  const Action action(Pass::update, finished.stage, finished.microbatch);
  const TaskId updated = add_task(plan_, classes_.compute(action, /*crosses=*/false),
                                  finished.microbatch, inputs_of_update(finished.slot));
  if (!tail_.gathers || !reduces(finished.stage)) return;
  const std::uint32_t work =
      classes_.tail_transfer(Pass::gather_weights, finished.stage,
                             {placement_.rank_of_slot(finished.slot), data_replicas});
  add_task(plan_, work, finished.microbatch, updated);
}

/// As `Plan::input` writes them.
TaskId TailTasks::inputs_of_update(std::uint32_t slot) {
  const std::vector<TaskId>& arriving = arriving_[slot];
  if (arriving.empty()) return no_task;
  if (arriving.size() == 1) return arriving.front();
  const auto list = static_cast<std::uint32_t>(plan_.inputs.size());
  plan_.inputs.push_back(static_cast<std::uint32_t>(arriving.size()));
  plan_.inputs.insert(plan_.inputs.end(), arriving.begin(), arriving.end());
  return list | Plan::several;
}

}  // namespace penstock
