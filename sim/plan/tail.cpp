#include "sim/plan/tail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/error.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {
namespace {

/// The stage whose weights are tied to those of a stage: model stage `from` and the last of its
/// chain are.
std::optional<Stage> tied_to(const Placement& placement, Stage stage, std::uint32_t from) {
  const std::vector<Stage>& chain = placement.chains()[placement.chain_of(stage)];
  if (chain.size() < from + 2) return std::nullopt;
  if (stage == chain[from]) return chain.back();
  if (stage == chain.back()) return chain[from];
  return std::nullopt;
}

}  // namespace

TailTasks::TailTasks(const Schedule& schedule, const Placement& placement, const Tail& tail,
                     Plan& plan, WorkClasses& classes)
    : placement_(placement), tail_(tail), plan_(plan), classes_(classes) {
  if (tail.empty()) return;
  holders_ = ranks_by_model_stage(placement);
  left_.resize(placement.slots());
  finished_.resize(placement.ranks());
  row_end_.assign(placement.ranks(), no_task);
  sums_.resize(holders_.size());
  ties_.resize(placement.slots());
  reduction_.assign(placement.slots(), unnamed);
  early_ = reduction_;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      if (!ends_activation(action.pass)) continue;
      ++left_[placement.slot_of(action.stage, action.microbatch)];
      ++gradients_;
    }
  }
  check_waits();
}

/// The updates of a stage on each of its ranks list the gradient sums of all of them.
void TailTasks::check_waits() const {
  constexpr double most = 1e7;
  std::vector<double> slots(holders_.size()), sums(holders_.size());
  for (const Stage stage : placement_.stages()) {
    for (const Microbatch replica : Numbers<Microbatch>(placement_.replicas(stage))) {
      const std::uint32_t gradients = left_[placement_.slot_of(stage, replica)];
      slots[group_of(stage)] += 1;
      const bool early = tail_.starts_early(placement_.position(stage));
      sums[group_of(stage)] +=
          (early ? 2.0 : 1.0) * (sums_each() ? gradients : std::min(gradients, 1U));
    }
  }
  double waits = 0;
  for (std::size_t stage = 0; stage < slots.size(); ++stage) {
    if (slots[stage] > 1 && tail_.of_stage(static_cast<std::uint32_t>(stage))) {
      waits += slots[stage] * sums[stage];
    }
  }
  if (!tail_.updates || waits <= most) return;
  throw InputError("/partition/ranks",
                   fmt::format("the ranks that hold a stage would wait {:.0f} times for each "
                               "other's sums; at most {:.0f}, with fewer of them",
                               waits, most));
}

std::uint64_t TailTasks::most_tasks() const {
  // Two reductions, an update and an all-gather each; ends of a chain tie with at most every
  // replica.
  if (left_.empty()) return 0;
  return std::uint64_t{6} * placement_.slots() + (sums_each() ? 2 * gradients_ : 0);
}

void TailTasks::follow_action(const Action& action, TaskId task) {
  if (holds_back()) row_end_[plan_.class_of(task).resource] = task;
  if (!ends_activation(action.pass)) return;
  const std::uint32_t slot = placement_.slot_of(action.stage, action.microbatch);
  const bool last = --left_[slot] == 0;
  const Finished finished{action.stage, slot, action.microbatch};
  if (tail_.summing <= Summing::behind_each && (last || sums_each())) reduce(finished, task);
  if (!last) return;
  if (!holds_back()) tie(finished, task);
  finished_[index(placement_.rank_of_slot(slot))].push_back(finished);
}

void TailTasks::reduce_early(const Action& action, TaskId input) {
  const std::uint32_t slot = placement_.slot_of(action.stage, action.microbatch);
  sum(Pass::reduce_early, {action.stage, slot, action.microbatch}, input);
}

void TailTasks::reduce(const Finished& finished, TaskId producer) {
  if (!reduces(finished.stage) || tail_.summing == Summing::in_passes) return;
  sum(Pass::reduce_gradient, finished, producer);
}

TaskId TailTasks::reduce_written(Rank rank, Stage stage, TaskId input) {
  if (finished_.empty() || !reduces(stage)) return no_task;
  const std::vector<Finished>& all = finished_[index(rank)];
  const auto own = std::ranges::find(all, stage, &Finished::stage);
  return own == all.end() ? no_task : sum(Pass::reduce_gradient, *own, input);
}

TaskId TailTasks::sum(Pass part, const Finished& finished, TaskId input) {
  std::uint32_t& work = (part == Pass::reduce_early ? early_ : reduction_)[finished.slot];
  if (work == unnamed) {
    work = classes_.tail_transfer(part, finished.stage, link_of_sums(finished));
  }
  const TaskId task = add_task(plan_, work, finished.microbatch, input);
  sums_[group_of(finished.stage)].push_back(task);
  return task;
}

/// To the data replicas, or without these to the next rank that holds the stage.
Link TailTasks::link_of_sums(const Finished& finished) const {
  const Rank rank = placement_.rank_of_slot(finished.slot);
  const std::vector<Rank>& holders = holders_[placement_.position(finished.stage)];
  const bool across_ranks = tail_.across_ranks && holders.size() > 1;
  return {rank, across_ranks ? next_holder(holders, rank) : data_replicas};
}

/// Replicas of the two ends pair up; the larger end shares partners.
void TailTasks::tie(const Finished& finished, TaskId producer) {
  const auto other =
      tail_.ties ? tied_to(placement_, finished.stage, tail_.tied_from) : std::nullopt;
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
    ties_[placement_.slot_of(*other, pair)].push_back(
        add_task(plan_, work, finished.microbatch, producer));
  }
}

void TailTasks::finish() {
  if (holds_back()) finish_rows();
  if (!tail_.updates) return;
  for (const std::vector<Finished>& of_rank : finished_) {
    for (const Finished& finished : of_rank) update(finished);
  }
}

/// Delayed tasks follow the last action of their rank, lower stages first.
void TailTasks::finish_rows() {
  for (std::size_t rank = 0; rank < finished_.size(); ++rank) {
    std::vector<Finished> all = finished_[rank];
    std::ranges::sort(all, {}, &Finished::stage);
    for (const Finished& finished : all) {
      reduce(finished, row_end_[rank]);
      tie(finished, row_end_[rank]);
    }
  }
}

void TailTasks::update(const Finished& finished) {
  const Action action(Pass::update, finished.stage, finished.microbatch);
  const TaskId updated = add_task(plan_, classes_.compute(action, /*crosses=*/false),
                                  finished.microbatch, inputs_of_update(finished));
  if (!tail_.gathers || !reduces(finished.stage)) return;
  const std::uint32_t work =
      classes_.tail_transfer(Pass::gather_weights, finished.stage, link_of_sums(finished));
  add_task(plan_, work, finished.microbatch, updated);
}

/// Encoded as `Plan::input`.
TaskId TailTasks::inputs_of_update(const Finished& finished) {
  std::vector<TaskId> inputs = sums_[group_of(finished.stage)];
  const std::vector<TaskId>& ties = ties_[finished.slot];
  inputs.insert(inputs.end(), ties.begin(), ties.end());
  std::ranges::sort(inputs);
  return add_inputs(plan_, inputs);
}

}  // namespace penstock
