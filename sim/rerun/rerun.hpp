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

/// A finished run that can be changed at one place after the other, and is simulated again only
/// where that tells. After each change `timeline` has the bytes that a full run of `plan` with
/// `costs` would give.
///
/// Where `relax` is right, a change goes from task to task as far as it moves anything; one that
/// turns out to move much is given up for a full pass. Under other conditions, where what happens
/// at one end of the pipeline can be felt at the other at once, the whole plan runs again.
///
/// A change that is refused, or after which the run would never end, leaves everything as it was.
class Rerun {
 public:
  /// A change that was made, and how many tasks had to be looked at again.
  struct Done {
    std::uint64_t looked_at = 0;
  };
  using Answer = std::variant<Done, Refused, Deadlock, Standstill>;

  /// `timeline` is that of a full run of the plan, by `relax` where that is right.
  Rerun(PricedPlan priced, Placement placement, Timeline timeline);

  const PricedPlan& priced() const { return priced_; }
  const Plan& plan() const { return priced_.plan; }
  const Costs& costs() const { return priced_.costs; }
  const Conditions& conditions() const { return priced_.conditions; }
  const Timeline& timeline() const { return timeline_; }

  /// How long every task of a work class takes. The two parts of a fused overlap cell have classes
  /// of their own, of which the first has the duration of the cell.
  Answer set_duration(std::uint32_t work, Time duration);
  /// How much later what a task of a work class puts out is there.
  Answer set_latency(std::uint32_t work, Time latency);
  /// How long one task takes.
  Answer set_task_duration(TaskId task, Time duration);
  /// What a physical link carries. Transfers over it take as long as their slowest link says.
  Answer set_bandwidth(std::uint32_t physical_link, double bytes_per_s);
  /// The order in which a rank does a stretch of its actions. Transfers follow those that make
  /// them. Tasks may get other numbers, in a plan as sound as `lower` makes.
  Answer reorder(const OrderEdit& edit);

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

  /// A place in the orders of ranks and links, and who is to stand there.
  struct Slot {
    std::uint32_t place;
    TaskId task;
  };
  /// What an order edit changes.
  using State = std::tuple<Plan, TaskGraph, Costs, Timeline>;
  std::vector<Slot> slots_for(const OrderEdit& edit, std::span<const TaskId> tasks) const;
  void add_transfer_slots(std::span<const TaskId> old_order, std::span<const TaskId> tasks,
                          std::vector<Slot>& slots) const;
  void put(std::vector<Slot>& slots);
  Answer run_reordered(std::span<const Slot> slots, const std::optional<State>& before);
  void find_engine();

  Answer run_again(const std::function<void()>& undo);
  std::uint64_t propagate();
  bool work_out(TaskId task);
  Time launched(TaskId task) const;
  void count_launches();

  PricedPlan priced_;
  Placement placement_;
  Timeline timeline_;
  TaskGraph graph_;
  DirtyTasks dirty_;
  std::vector<bool> several_makers_;     // by link: more than one rank sends over it
  bool relaxes_ = false;                 // relax is right
  bool waits_for_transfers_ = false;     // some transfer waits for another
  double total_ = 0;                     // of all times, in picoseconds
  std::vector<std::uint32_t> launches_;  // by place, up to it; empty where issuing takes no time
};

}  // namespace penstock
