#include "sim/rerun/order_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sim/order/needs_on_rank.hpp"
#include "sim/rerun/stretch.hpp"

namespace penstock {
namespace {

/// Whether a listed input belongs to the task itself, not to the second part of its cell.
bool is_own_input(const Plan& plan, TaskId task, TaskId input) {
  const Pass pass = plan.class_of(task).pass;
  const bool same_microbatch = plan.microbatch[task] == plan.microbatch[input];
  switch (plan.class_of(input).pass) {
    case Pass::send_activation:
      return pass == Pass::forward && same_microbatch;
    case Pass::send_gradient:
      return gives_gradient(pass) && same_microbatch;
    case Pass::send_loaded:
      return reads_activation(pass) && same_microbatch;
    default:
      return true;
  }
}

/// Whether a task holds inputs for the next task on its rank, or is fused with it.
bool is_joined(const Plan& plan, TaskId task, TaskId behind) {
  if (task == no_task || behind == no_task) return false;
  bool waits_for_both = false;
  plan.for_each_input(task, [&](TaskId input) {
    waits_for_both = waits_for_both || !is_own_input(plan, task, input);
  });
  return waits_for_both || plan.class_of(behind).follows_partner;
}

/// Whether an early reduction starts when a task ends: it belongs to the task behind.
bool starts_reduction(const Plan& plan, const TaskGraph& graph, TaskId task) {
  bool starts = false;
  if (task == no_task) return starts;
  graph.for_each_reader(task, [&](TaskId reader) {
    starts = starts || plan.class_of(reader).pass == Pass::reduce_early;
  });
  return starts;
}

using Refusal = std::optional<Refused>;

/// Cells across an end of the stretch must stay in place.
Refusal cell_taken_apart(const Plan& plan, const TaskGraph& graph, const Stretch& stretch) {
  const auto torn = [&](TaskId one, TaskId two) {
    return refused("{} and {} are one cell; nothing can come between them", task_text(plan, one),
                   task_text(plan, two));
  };
  const auto& tasks = stretch.old_order();
  const TaskId outside = graph.before(tasks.front());
  const bool joined =
      is_joined(plan, outside, tasks.front()) || starts_reduction(plan, graph, outside);
  if (joined && stretch.place_of(tasks.front()) != 0) {
    return torn(outside, tasks.front());
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskId behind = graph.behind(tasks[i]);
    if (!is_joined(plan, tasks[i], behind) && !starts_reduction(plan, graph, tasks[i])) continue;
    const bool last = i + 1 == tasks.size();
    const std::size_t place = last ? tasks.size() : stretch.place_of(behind);
    if (stretch.place_of(tasks[i]) + 1 != place) return torn(tasks[i], behind);
  }
  return std::nullopt;
}

Refusal need_behind(const Plan& plan, const Placement& placement, const Stretch& stretch) {
  for (const TaskId task : stretch.old_order()) {
    const WorkClass& work = plan.class_of(task);
    TaskId needed = no_task;
    const auto look_for = [&](Stage stage, Pass pass) {
      const TaskId found = stretch.find({stage, plan.microbatch[task], pass});
      if (found == no_task || stretch.place_of(found) < stretch.place_of(task)) return;
      needed = found;
    };
    for (const Pass pass : own_needs(work.pass)) look_for(work.stage, pass);
    for_each_handed_over(placement, work.stage, work.pass, look_for);
    if (needed == no_task) continue;
    return refused("{} needs {}, which would follow it", task_text(plan, task),
                   task_text(plan, needed));
  }
  return std::nullopt;
}

/// The number of updates of its own stage before each task of a sequence.
std::map<TaskId, std::uint32_t> updates_before(const Plan& plan, std::span<const TaskId> tasks) {
  std::map<TaskId, std::uint32_t> before;
  std::map<Stage, std::uint32_t> seen;
  for (const TaskId task : tasks) {
    const WorkClass& work = plan.class_of(task);
    std::uint32_t& count = seen[work.stage];
    before[task] = count;
    if (work.pass == Pass::update) ++count;
  }
  return before;
}

/// The order relative to updates decides which gradients an update includes and which weights an
/// action uses.
Refusal update_overtaken(const Plan& plan, const Stretch& stretch, std::span<const TaskId> tasks) {
  const auto is_update = [&](TaskId task) { return plan.class_of(task).pass == Pass::update; };
  if (std::none_of(tasks.begin(), tasks.end(), is_update)) return std::nullopt;
  const auto old = updates_before(plan, stretch.old_order());
  for (const auto& [task, count] : updates_before(plan, tasks)) {
    if (old.at(task) == count) continue;
    return refused("{} would move across an update of stage {}", task_text(plan, task),
                   index(plan.class_of(task).stage));
  }
  return std::nullopt;
}

bool has_tail(const Plan& plan, const TaskGraph& graph, TaskId task) {
  bool found = false;
  graph.for_each_reader(task, [&](TaskId reader) {
    const Pass pass = plan.class_of(reader).pass;
    found = found || pass == Pass::reduce_gradient || pass == Pass::tie_gradient;
  });
  return found;
}

/// The last weight gradient of a stage in the row of a rank that has any.
TaskId last_gradient(const Plan& plan, std::span<const TaskId> row, Stage stage) {
  const auto last = std::find_if(row.rbegin(), row.rend(), [&](TaskId task) {
    const WorkClass& work = plan.class_of(task);
    return work.stage == stage && ends_activation(work.pass);
  });
  return *last;
}

/// What follows the last weight gradient of a stage must stay after all of them; all-reduces may
/// follow the others too.
Refusal last_gradient_overtaken(const Plan& plan, const TaskGraph& graph,
                                std::span<const TaskId> row, std::span<const TaskId> tasks) {
  std::map<Stage, TaskId> last;  // of stages with a tail, once known
  std::set<Stage> complete;
  for (const TaskId task : tasks) {
    const WorkClass& work = plan.class_of(task);
    if (!ends_activation(work.pass)) continue;
    if (complete.count(work.stage) != 0) {
      return refused("{} would follow {}, after which the gradients of stage {} are complete",
                     task_text(plan, task), task_text(plan, last[work.stage]), index(work.stage));
    }
    if (!has_tail(plan, graph, task)) continue;
    const auto known = last.try_emplace(work.stage, no_task).first;
    if (known->second == no_task) known->second = last_gradient(plan, row, work.stage);
    if (known->second == task) complete.insert(work.stage);
  }
  return std::nullopt;
}

std::string place_text(const OrderEdit& edit) {
  return fmt::format("the {} actions from place {} on of rank {}", edit.actions.size(), edit.first,
                     index(edit.rank));
}

}  // namespace

std::variant<std::vector<TaskId>, Refused> edited_tasks(const Plan& plan, const TaskGraph& graph,
                                                        const Placement& placement,
                                                        const OrderEdit& edit) {
  if (index(edit.rank) >= plan.ranks) {
    return refused("unknown rank {}; ranks are 0 to {}", index(edit.rank), plan.ranks - 1);
  }
  const auto order = graph.order(index(edit.rank));
  if (edit.first > order.size() || edit.actions.size() > order.size() - edit.first) {
    return refused("{} do not exist; it has {}", place_text(edit), order.size());
  }
  std::vector<TaskId> tasks;
  if (edit.actions.empty()) return tasks;
  Stretch stretch(plan, order.subspan(edit.first, edit.actions.size()));
  for (const Action& action : edit.actions) {
    const TaskId task = stretch.find({action.stage, action.microbatch, action.pass});
    if (task == no_task) return refused("{} is not among {}", text(action), place_text(edit));
    if (!stretch.put(task, tasks.size())) return refused("{} occurs twice", text(action));
    tasks.push_back(task);
  }
  for (const Refusal& complaint :
       {cell_taken_apart(plan, graph, stretch), need_behind(plan, placement, stretch),
        update_overtaken(plan, stretch, tasks),
        last_gradient_overtaken(plan, graph, order, tasks)}) {
    if (complaint) return *complaint;
  }
  return tasks;
}

}  // namespace penstock
