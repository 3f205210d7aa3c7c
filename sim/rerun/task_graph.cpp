#include "sim/rerun/task_graph.hpp"

namespace penstock {

TaskGraph::TaskGraph(const Plan& plan)
    : slots_(std::size_t{plan.tasks()} + plan.resources() + 1, no_task),
      place_(plan.tasks()),
      reader_(plan.tasks(), no_task) {
  const ResourceOrders orders = resource_orders(plan);
  for (std::uint32_t resource = 0; resource < orders.first.size(); ++resource) {
    first_.push_back(orders.first[resource] + resource + 1);
  }
  for (std::uint32_t resource = 0; resource < plan.resources(); ++resource) {
    for (std::uint32_t at = orders.first[resource]; at < orders.first[resource + 1]; ++at) {
      put(at + resource + 1, orders.tasks[at]);
    }
  }
  find_readers(plan);
}

void TaskGraph::find_readers(const Plan& plan) {
  std::vector<std::uint32_t> count(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    plan.for_each_input(task, [&](TaskId input) { ++count[input]; });
  }
  const auto add = [&](TaskId& entry, std::uint32_t readers, TaskId reader) {
    if (readers == 1) {
      entry = reader;
      return;
    }
    if (entry == no_task) {
      entry = static_cast<TaskId>(readers_.size()) | Plan::several;
      readers_.resize(readers_.size() + readers + 1);
    }
    std::uint32_t* const list = &readers_[entry & ~Plan::several];
    list[++*list] = reader;
  };
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    plan.for_each_input(task, [&](TaskId input) { add(reader_[input], count[input], task); });
  }
}

void TaskGraph::put(std::uint32_t place, TaskId task) {
  slots_[place] = task;
  place_[task] = place;
}

void TaskGraph::move(const Renumbering& numbers) {
  numbers.move(place_);
  numbers.move(reader_);
  for (const TaskId task : numbers.tasks()) {
    const TaskId now = numbers.of(task);
    slots_[place_[now]] = now;
  }
}

}  // namespace penstock
