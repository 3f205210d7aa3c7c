#include "gui/models/run/same_ops.hpp"

#include <algorithm>

#include "experiments/measure/comparison/comparison.hpp"

namespace penstock {
namespace {

bool is_alike(const WorkClass& one, const WorkClass& other) {
  return one.pass == other.pass && one.stage == other.stage && one.resource == other.resource;
}

/// Whether each task number is the same op in both, as when only costs have changed.
bool number_alike(const Plan& one, const Plan& other) {
  return one.work == other.work && one.microbatch == other.microbatch &&
         std::equal(one.classes.begin(), one.classes.end(), other.classes.begin(),
                    other.classes.end(), is_alike);
}

}  // namespace

std::vector<TaskId> same_ops(const Plan& from, const std::vector<TaskId>& tasks, const Plan& to) {
  if (tasks.empty() || &from == &to || number_alike(from, to)) return tasks;
  std::vector<TaskId> there(from.tasks(), no_task);
  for (const TaskPair& pair : match_tasks(from, to).shared) there[pair.a] = pair.b;
  std::vector<TaskId> found;
  for (const TaskId task : tasks) {
    if (there[task] != no_task) found.push_back(there[task]);
  }
  return found;
}

}  // namespace penstock
