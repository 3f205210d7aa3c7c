#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/comm_rows.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/lower.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/recomputation.hpp"
#include "sim/plan/tail.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {

/// Turns one order into a plan, the implementation of `lower`: rows and their cells, transfers, and
/// communication where it is written.
class OrderLowering {
 public:
  OrderLowering(const Schedule& schedule, const Placement& placement, Overlap overlap,
                const Extras& extras);
  std::variant<Plan, Deadlock> run();

 private:
  /// The progress of a rank.
  struct Row {
    const Action* begin;
    const Action* end;
    const Action* next = begin;
    const Action* ahead = nullptr;  // its next action when early R's were last placed
    std::size_t waits_for = HandoverEnds::nothing;  // the output that it waits for
    TaskId last = no_task;                          // the last task placed

    std::uint32_t place() const { return static_cast<std::uint32_t>(next - begin); }
  };

  static std::span<const Action> next_cell(const Row& row);
  std::size_t read_by(const Action& action) const;
  const Action* stopped(std::span<const Action> cell) const;
  bool find_inputs(std::span<const Action> cell, std::size_t& missing);

  void advance(Rank rank);
  void recompute_early(Rank rank, std::span<const Action> actions);
  TaskId recompute_in_front(Row& row, std::span<const Action> actions, TaskId input);
  TaskId place_part(Row& row, const Action& action, std::uint32_t work, TaskId input);
  std::array<TaskId, 2> place_fused(Rank rank, std::span<const Action> cell, TaskId input);
  TaskId start_of(const Row& row, TaskId input);
  void place(Rank rank, std::span<const Action> cell);
  std::uint32_t class_of(const Action& action, bool crosses, bool in_cell);
  void hand_over(Rank rank, const Action& action, TaskId producer);
  TaskId send(HandoverEnds& ends, const Action& action, TaskId producer);
  void move_stash(Rank rank, const Action& action, TaskId producer);
  TaskId& stash_moved(const Action& action);
  TaskId take_loaded(const Action& action);
  TaskId input_of(Rank rank, std::span<const Action> cell);
  TaskId written_input(Rank rank, std::span<const Action> cell, std::span<const TaskId> found);
  std::size_t output_of(const Crossing& crossing) const;
  bool issue_comms(Rank rank);
  void wake(Rank rank, std::size_t output);
  std::uint32_t with_behind(Rank rank, std::uint32_t work, std::size_t actions);
  std::vector<bool> links_in_order() const;
  bool is_done(Rank rank) const;
  void reserve();
  Deadlock deadlock() const;

  // What `arrived_` and `came_` hold: not yet, on the rank that reads it already, or first_task + a
  // transfer.
  static constexpr std::uint32_t not_yet = 0;
  static constexpr std::uint32_t same_rank = 1;
  static constexpr std::uint32_t first_task = 2;

  const Schedule& schedule_;
  const Placement& placement_;
  Overlap overlap_;
  const std::vector<bool>& exchanges_;
  ActionCounts counts_;
  MicrobatchColumns columns_;
  Plan plan_;
  WorkClasses classes_;  // writes into the plan
  Recomputation recomputation_;
  TailTasks tail_;
  std::optional<CommRows> comms_;        // where the order has its communication
  std::vector<HandoverEnds> ends_;       // by stage: of its activations, of its gradients
  std::vector<std::uint32_t> arrived_;   // by output: (activation or gradient, stage, microbatch)
  std::vector<TaskId> stash_moved_;      // by (stage, microbatch): the last transfer of its stash
  std::array<std::uint32_t, 2> came_{};  // how what each part of the cell at hand reads has come
  std::vector<Row> rows_;                // by rank
  std::vector<Rank> runnable_;           // the next to be looked at, in this order
};

}  // namespace penstock
