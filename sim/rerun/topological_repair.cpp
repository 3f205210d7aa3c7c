#include "sim/rerun/topological_repair.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace penstock {
namespace {

/// The tasks with numbers `first` to `last`.
struct Window {
  TaskId first = no_task;
  TaskId last = 0;
  bool holds(TaskId task) const { return task != no_task && first <= task && task <= last; }
};

class Repair {
 public:
  Repair(const Plan& plan, const TaskGraph& graph, const OrderNeighbours& neighbours,
         Window window);
  std::variant<std::optional<Renumbering>, Deadlock> run();

 private:
  TaskId unplaced_before(TaskId task) const;
  TaskId unplaced_input(TaskId task) const;
  template <class Visitor>
  void for_each_successor(TaskId task, Visitor visit) const;
  void place(TaskId task);

  Deadlock deadlock() const;
  TaskId first_unplaced_action() const;
  TaskId head_of(TaskId action) const;
  TaskId unplaced_maker_of(TaskId transfer) const;
  Wait wait_of(TaskId head, TaskId transfer) const;

  const Plan& plan_;
  const TaskGraph& graph_;
  const OrderNeighbours& neighbours_;
  Window window_;
  std::vector<std::uint32_t>
      missing_;               // by number: inputs of it in the window that have no number yet
  std::vector<bool> placed_;  // by number
  std::priority_queue<TaskId, std::vector<TaskId>, std::greater<>> ready_;
  std::vector<TaskId> order_;
};

Repair::Repair(const Plan& plan, const TaskGraph& graph, const OrderNeighbours& neighbours,
               Window window)
    : plan_(plan),
      graph_(graph),
      neighbours_(neighbours),
      window_(window),
      missing_(window.last - window.first + 1),
      placed_(missing_.size()) {}

template <class Visitor>
void Repair::for_each_successor(TaskId task, Visitor visit) const {
  const auto visit_inside = [&](TaskId successor) {
    if (window_.holds(successor)) visit(successor);
  };
  visit_inside(neighbours_.behind(task));
  graph_.for_each_reader(task, visit_inside);
}

std::variant<std::optional<Renumbering>, Deadlock> Repair::run() {
  for (TaskId task = window_.first; task <= window_.last; ++task) {
    for_each_successor(task, [&](TaskId later) { ++missing_[later - window_.first]; });
  }
  for (TaskId task = window_.first; task <= window_.last; ++task) {
    if (missing_[task - window_.first] == 0) ready_.push(task);
  }
  while (!ready_.empty()) {
    const TaskId task = ready_.top();
    ready_.pop();
    place(task);
  }
  if (order_.size() < missing_.size()) return deadlock();
  return Renumbering(window_.first, std::move(order_));
}

/// The second part of a fused cell has the next number after the first.
void Repair::place(TaskId task) {
  order_.push_back(task);
  placed_[task - window_.first] = true;
  TaskId follower = no_task;
  for_each_successor(task, [&](TaskId later) {
    if (--missing_[later - window_.first] > 0) return;
    if (plan_.class_of(later).follows_partner) {
      follower = later;
    } else {
      ready_.push(later);
    }
  });
  if (follower != no_task) place(follower);
}

/// The task before on the rank or link if it has no number yet; otherwise no_task.
TaskId Repair::unplaced_before(TaskId task) const {
  const TaskId before = neighbours_.before(task);
  return window_.holds(before) && !placed_[before - window_.first] ? before : no_task;
}

TaskId Repair::unplaced_input(TaskId task) const {
  TaskId found = no_task;
  plan_.for_each_input(task, [&](TaskId input) {
    const bool unplaced = window_.holds(input) && !placed_[input - window_.first];
    if (found == no_task && unplaced) found = input;
  });
  return found;
}

/// Follows the waits from the first action without a number on each rank to another rank, until one
/// repeats.
Deadlock Repair::deadlock() const {
  TaskId head = head_of(first_unplaced_action());
  std::vector<TaskId> heads;
  Deadlock found;
  auto seen = heads.end();
  while ((seen = std::find(heads.begin(), heads.end(), head)) == heads.end()) {
    const TaskId transfer = unplaced_input(head);
    heads.push_back(head);
    found.circle.push_back(wait_of(head, transfer));
    head = head_of(unplaced_maker_of(transfer));
  }
  found.circle.erase(found.circle.begin(), found.circle.begin() + (seen - heads.begin()));
  return found;
}

/// On the lowest rank that has any.
TaskId Repair::first_unplaced_action() const {
  TaskId found = no_task;
  for (TaskId task = window_.first; task <= window_.last; ++task) {
    const std::uint32_t resource = plan_.class_of(task).resource;
    if (placed_[task - window_.first] || plan_.is_link(resource)) continue;
    if (found == no_task || resource < plan_.class_of(found).resource) found = task;
  }
  return found;
}

/// The first action on the same rank without a number.
TaskId Repair::head_of(TaskId action) const {
  for (TaskId before = unplaced_before(action); before != no_task; before = unplaced_before(before))
    action = before;
  return action;
}

/// The action without a number that a transfer waits for.
TaskId Repair::unplaced_maker_of(TaskId transfer) const {
  while (is_transfer(plan_.class_of(transfer).pass)) {
    const TaskId input = unplaced_input(transfer);
    transfer = input != no_task ? input : unplaced_before(transfer);
  }
  return transfer;
}

Wait Repair::wait_of(TaskId head, TaskId transfer) const {
  const auto action = [&](TaskId task) {
    const WorkClass& work = plan_.class_of(task);
    return Action(work.pass, work.stage, plan_.microbatch[task]);
  };
  const auto rank = [&](TaskId task) { return Rank{plan_.class_of(task).resource}; };
  const TaskId maker = unplaced_maker_of(transfer);
  return {rank(head), action(head), action(maker), rank(maker)};
}

}  // namespace

std::variant<std::optional<Renumbering>, Deadlock> repair_numbers(
    const Plan& plan, const TaskGraph& graph, const std::vector<bool>& several_makers,
    std::span<const TaskId> moved) {
  const OrderNeighbours neighbours(plan, graph, several_makers);
  Window window;
  const auto check = [&](TaskId earlier, TaskId later) {
    if (earlier == no_task || later == no_task || earlier < later) return;
    window.first = std::min(window.first, later);
    window.last = std::max(window.last, earlier);
  };
  for (const TaskId task : moved) {
    check(neighbours.before(task), task);
    check(task, neighbours.behind(task));
  }
  if (window.first > window.last) return std::nullopt;
  return Repair(plan, graph, neighbours, window).run();
}

}  // namespace penstock
