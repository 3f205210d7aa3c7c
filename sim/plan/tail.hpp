#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {

/// Adds what follows the last weight gradient of each stage on each of its ranks, possibly
/// overlapped with the rank's remaining work: the gradient reduction over all holders of the same
/// weights, the exchange of tied gradients, and the update at the end of the row. The early part of
/// a reduction starts with the weight gradient that it follows: its buckets fill one by one. When
/// several ranks hold a stage, as replicas or in several chains, each sends its gradients when it
/// has them, and updates when all have arrived.
///
/// Tasks of the tail have the microbatch of the gradient that they follow; with the stage it gives
/// the rank, as for other tasks.
class TailTasks {
 public:
  /// Throws InputError when ranks wait for each other more often than can be listed.
  TailTasks(const Schedule& schedule, const Placement& placement, const Tail& tail, Plan& plan,
            WorkClasses& classes);

  /// An upper bound on the number of tasks added.
  std::uint64_t most_tasks() const;
  /// Whether part of the gradients of an action's stage is reduced while the action runs. Ask
  /// before the action is placed.
  bool starts_early(const Action& action) const {
    if (left_.empty() || !ends_activation(action.pass)) return false;
    const bool last = left_[placement_.slot_of(action.stage, action.microbatch)] == 1;
    return (last || sums_each()) && tail_.starts_early(placement_.position(action.stage));
  }
  /// Adds the early reduction of such an action, right before it; `input`, encoded as
  /// `Plan::input`, is what the action starts after.
  void reduce_early(const Action& action, TaskId input);
  /// Call for every action, right after its outputs were sent.
  void follow(const Action& action, TaskId task) {
    if (!left_.empty()) follow_action(action, task);
  }
  /// The reduction of a REDUCE_GRAD, whose stage has all its gradients on this rank; `input` is
  /// encoded as `Plan::input`. Nothing to reduce: no_task.
  TaskId reduce_written(Rank rank, Stage stage, TaskId input);
  /// Call when all rows are placed.
  void finish();

 private:
  /// A stage on one rank with all its weight gradients.
  struct Finished {
    Stage stage;
    std::uint32_t slot;
    Microbatch microbatch;
  };

  bool reduces(Stage stage) const { return tail_.of_stage(placement_.position(stage)); }
  std::size_t group_of(Stage stage) const {
    const std::uint32_t position = placement_.position(stage);
    return tail_.updated_with.empty() ? position : tail_.updated_with[position];
  }
  bool holds_back() const { return tail_.summing == Summing::behind_row; }
  bool sums_each() const { return tail_.summing == Summing::behind_each; }
  void check_waits() const;
  void follow_action(const Action& action, TaskId task);
  void reduce(const Finished& finished, TaskId producer);
  TaskId sum(Pass part, const Finished& finished, TaskId input);
  void tie(const Finished& finished, TaskId producer);
  void finish_rows();
  void update(const Finished& finished);
  Link link_of_sums(const Finished& finished) const;
  TaskId inputs_of_update(const Finished& finished);

  const Placement& placement_;
  const Tail& tail_;
  Plan& plan_;
  WorkClasses& classes_;
  std::uint64_t gradients_ = 0;      // over all slots
  std::vector<std::uint32_t> left_;  // by slot: weight gradients to come
  // By slot: the classes of its reduction and of the early part, once named.
  std::vector<std::uint32_t> reduction_, early_;
  std::vector<std::vector<Finished>> finished_;  // by rank, in order
  std::vector<TaskId> row_end_;                  // by rank: its last action so far
  std::vector<std::vector<TaskId>> sums_;        // by group of stages: inputs of all its updates
  std::vector<std::vector<TaskId>> ties_;        // by slot: further inputs of its own update
  std::vector<std::vector<Rank>> holders_;       // by model stage
};

}  // namespace penstock
