#include "sim/rerun/renumbering.hpp"

#include <utility>

namespace penstock {

Renumbering::Renumbering(TaskId first, std::vector<TaskId> tasks)
    : first_(first), tasks_(std::move(tasks)), now_(tasks_.size()) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    now_[tasks_[i] - first_] = first_ + static_cast<TaskId>(i);
  }
}

void Renumbering::rename(TaskId& entry, std::vector<std::uint32_t>& lists) const {
  if (entry == no_task) return;
  if ((entry & Plan::several) == 0) {
    entry = of(entry);
    return;
  }
  std::uint32_t* const list = &lists[entry & ~Plan::several];
  for (std::uint32_t i = 1; i <= *list; ++i) list[i] = of(list[i]);
}

}  // namespace penstock
