#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {

/// Adds to a plan what follows the last weight gradient of each stage on each of its ranks, which
/// may overlap with what the rank still does: the sum over all that hold the same weights, the
/// exchange of tied gradients, and at the end of the row the update. Where several ranks hold a
/// stage, as replicas or in several chains, each sends its part of the sum when it has it, and
/// updates when all parts have come.
///
/// Tasks of the tail carry the microbatch of the gradient that they follow: with the stage it tells
/// the rank, as everywhere.
class TailTasks {
 public:
  /// Throws InputError when ranks would wait for each other more often than can be listed.
  TailTasks(const Schedule& schedule, const Placement& placement, const Tail& tail, Plan& plan,
            WorkClasses& classes);

  /// No fewer than will be added.
  std::uint64_t most_tasks() const;
  /// To be told of every action, right after its outputs were sent.
  void follow(const Action& action, TaskId task) {
    if (!left_.empty()) follow_action(action, task);
  }
  /// To be called when all rows are placed.
  void finish();

 private:
  /// A stage on one rank whose weight gradients are all there.
  struct Finished {
    Stage stage;
    std::uint32_t slot;
    Microbatch microbatch;
  };

  bool reduces(Stage stage) const { return tail_.of_stage(placement_.position(stage)); }
  bool holds_back() const { return tail_.summing == Summing::behind_row; }
  bool sums_each() const { return tail_.summing == Summing::behind_each; }
  void check_waits() const;
  void follow_action(const Action& action, TaskId task);
  void reduce(const Finished& finished, TaskId producer);
  void tie(const Finished& finished, TaskId producer);
  void finish_rows();
  void update(const Finished& finished);
  Link link_of_sums(const Finished& finished) const;
  TaskId inputs_of_update(const Finished& finished);

  const Placement& placement_;
  const Tail& tail_;
  Plan& plan_;
  WorkClasses& classes_;
  std::uint64_t gradients_ = 0;                  // over all slots
  std::vector<std::uint32_t> left_;              // by slot: weight gradients to come
  std::vector<std::uint32_t> reduction_;         // by slot: the class of its sums, once named
  std::vector<std::vector<Finished>> finished_;  // by rank, in order
  std::vector<TaskId> row_end_;                  // by rank: its last action so far
  std::vector<std::vector<TaskId>> sums_;        // by model stage: what all its updates wait for
  std::vector<std::vector<TaskId>> ties_;        // by slot: and what its own waits for besides
  std::vector<std::vector<Rank>> holders_;       // by model stage
};

}  // namespace penstock
