#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/engines/events.hpp"
#include "sim/engines/relax.hpp"
#include "sim/rerun/renumbered_run.hpp"
#include "sim/rerun/rerun.hpp"
#include "sim/rerun/topological_repair.hpp"

namespace penstock {

Rerun::Answer Rerun::reorder(const OrderEdit& edit, const Placement& placement) {
  find_neighbours();
  const auto tasks = edited_tasks(priced_.plan, *graph_, placement, edit);
  if (const auto* refused = std::get_if<Refused>(&tasks)) return *refused;
  std::vector<Slot> slots = slots_for(edit, std::get<std::vector<TaskId>>(tasks));
  // Only the engine for conditions can deadlock.
  std::optional<State> before;
  if (!relaxes_ || waits_for_transfers_)
    before.emplace(priced_.plan, graph_, priced_.costs, timeline_);
  put(slots);
  std::vector<TaskId> moved;
  for (const Slot& slot : slots) moved.push_back(graph_->at(slot.place));
  auto numbers = repair_numbers(priced_.plan, *graph_, several_makers_, moved);
  if (auto* deadlock = std::get_if<Deadlock>(&numbers)) {
    put(slots);
    return std::move(*deadlock);
  }
  if (const auto& now = std::get<std::optional<Renumbering>>(numbers)) {
    renumber(*now, priced_.plan, *graph_, priced_.costs, timeline_);
  }
  return run_reordered(slots, before);
}

/// The new tasks of all places that change: on the rank, and on the links that it feeds.
std::vector<Rerun::Slot> Rerun::slots_for(const OrderEdit& edit,
                                          std::span<const TaskId> tasks) const {
  std::vector<Slot> slots;
  std::uint32_t place = graph_->first_place(index(edit.rank)) + edit.first;
  for (const TaskId task : tasks) slots.push_back({place++, task});
  const auto order = graph_->order(index(edit.rank));
  add_transfer_slots(order.subspan(edit.first, tasks.size()), tasks, slots);
  std::erase_if(slots, [&](const Slot& slot) { return graph_->at(slot.place) == slot.task; });
  return slots;
}

/// On each link, transfers keep the order of the actions that issue them.
void Rerun::add_transfer_slots(std::span<const TaskId> old_order, std::span<const TaskId> tasks,
                               std::vector<Slot>& slots) const {
  const auto transfers_of = [&](std::span<const TaskId> makers) {
    std::vector<TaskId> found;
    for (const TaskId maker : makers) {
      graph_->for_each_reader(maker, [&](TaskId reader) {
        if (is_transfer(priced_.plan.class_of(reader).pass)) found.push_back(reader);
      });
    }
    std::stable_sort(found.begin(), found.end(), [&](TaskId a, TaskId b) {
      return priced_.plan.class_of(a).resource < priced_.plan.class_of(b).resource;
    });
    return found;
  };
  const std::vector<TaskId> old = transfers_of(old_order);
  const std::vector<TaskId> now = transfers_of(tasks);
  for (std::size_t i = 0; i < old.size(); ++i) slots.push_back({graph_->place(old[i]), now[i]});
}

/// Places tasks; the slots then hold the previous ones.
void Rerun::put(std::vector<Slot>& slots) {
  for (Slot& slot : slots) {
    const TaskId old = graph_->at(slot.place);
    graph_->put(slot.place, slot.task);
    slot.task = old;
  }
}

Rerun::Answer Rerun::run_reordered(std::span<const Slot> slots,
                                   const std::optional<State>& before) {
  for (const Slot& slot : slots) {
    const TaskId task = graph_->at(slot.place);
    dirty_.add(task);
    if (const TaskId behind = graph_->behind(task); behind != no_task) dirty_.add(behind);
  }
  count_launches();
  const bool relaxed = relaxes_;
  find_engine();
  if (relaxes_ && !relaxed) {
    dirty_.clear();
    timeline_ = relax(priced_, std::move(timeline_));
    return Done{priced_.plan.tasks()};
  }
  return run_again([&] {
    std::tie(priced_.plan, graph_, priced_.costs, timeline_) = *before;
    count_launches();
    find_engine();
  });
}

/// The order in which transfers of a link become ready can change only when they also wait for
/// other transfers.
void Rerun::find_engine() {
  if (!waits_for_transfers_) return;
  priced_.plan.in_one_order = links_in_one_order(priced_.plan);
  relaxes_ = !why_not_relax(priced_.plan, priced_.conditions);
}

}  // namespace penstock
