#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <variant>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"
#include "sim/order/placement.hpp"
#include "sim/plan/lower.hpp"
#include "sim/plan/plan.hpp"
#include "sim/rerun/bandwidth_edit.hpp"
#include "sim/rerun/dirty_tasks.hpp"
#include "sim/rerun/order_edit.hpp"
#include "sim/rerun/task_graph.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A finished run that can be changed step by step; only affected tasks are simulated again. After
/// each change `timeline` has the bytes of a full run of `plan` with `costs`.
///
/// Where `relax` applies, a change of a class, task or order propagates from task to task; one that
/// affects many tasks falls back to a full pass. A change of all costs is a pass from the first
/// affected task. Under other conditions a change may affect everything at once, so the whole plan
/// runs again.
///
/// A change that is refused, or that leads to a deadlock, leaves everything as it was.
class Rerun {
 public:
  /// A completed change and the number of tasks simulated again.
  struct Done {
    std::uint64_t looked_at = 0;
  };
  using Answer = std::variant<Done, Refused, Deadlock, Standstill>;

  /// `timeline` is from a full run of the plan, by `relax` where it applies.
  Rerun(PricedPlan priced, Timeline timeline);

  const PricedPlan& priced() const { return priced_; }
  const Plan& plan() const { return priced_.plan; }
  const Costs& costs() const { return priced_.costs; }
  const Conditions& conditions() const { return priced_.conditions; }
  const Timeline& timeline() const { return timeline_; }

  /// Replaces all costs. Refuses the costs of another plan.
  Answer set_costs(Costs costs);
  /// Sets the duration of a work class. The parts of a fused overlap cell have classes of their
  /// own; the first has the duration of the cell.
  Answer set_duration(std::uint32_t work, Time duration);
  /// Sets the delay until outputs of a work class arrive.
  Answer set_latency(std::uint32_t work, Time latency);
  /// Sets the duration of one task.
  Answer set_task_duration(TaskId task, Time duration);
  /// Sets the bandwidth of a physical link. Transfers take the time of their slowest link.
  Answer set_bandwidth(std::uint32_t physical_link, double bytes_per_s);
  /// Reorders a stretch of a rank's actions. Transfers follow the actions that issue them. Tasks
  /// may get other numbers; the plan stays as valid as from `lower`. `placement` is the one that
  /// the plan was lowered with.
  Answer reorder(const OrderEdit& edit, const Placement& placement);

 private:
  /// The durations of classes and tasks, or their latencies.
  struct Times {
    std::vector<Time> Costs::*of_class;
    std::vector<Time> Costs::*of_task;
  };
  static constexpr Times durations{&Costs::duration, &Costs::task_duration};
  static constexpr Times latencies{&Costs::latency, &Costs::task_latency};
  Answer set_times(const Times& times, std::span<const ClassTime> changes);
  double growth(const Times& times, const ClassTime& change) const;
  std::optional<Refused> add_to_total(Time time, double growth);
  void assign(const Times& times, const ClassTime& change);

  /// A place in the order of a rank or link, and its new task.
  struct Slot {
    std::uint32_t place;
    TaskId task;
  };
  /// The state that an order edit changes.
  using State = std::tuple<Plan, std::optional<TaskGraph>, Costs, Timeline>;
  std::vector<Slot> slots_for(const OrderEdit& edit, std::span<const TaskId> tasks) const;
  void add_transfer_slots(std::span<const TaskId> old_order, std::span<const TaskId> tasks,
                          std::vector<Slot>& slots) const;
  void put(std::vector<Slot>& slots);
  Answer run_reordered(std::span<const Slot> slots, const std::optional<State>& before);
  void find_engine();

  void find_neighbours();
  Answer run_again(const std::function<void()>& undo);
  std::uint64_t propagate();
  bool work_out(TaskId task);
  Time launched(TaskId task) const;
  void count_launches();

  PricedPlan priced_;
  Timeline timeline_;
  DirtyTasks dirty_;
  bool relaxes_ = false;  // relax applies
  double total_ = 0;      // of all times, in picoseconds

  // Needed by changes of a class, task or order, not by a change of all costs.
  std::optional<TaskGraph> graph_;
  std::vector<bool> several_makers_;     // by link: several ranks send over it
  bool waits_for_transfers_ = false;     // some transfer waits for another
  std::vector<std::uint32_t> launches_;  // by place, cumulative; empty when issuing takes no time
};

}  // namespace penstock
