#include "sim/report/tasks_before.hpp"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

/// Transfers of one link were served in the order of when they began and when they left.
struct Served {
  Time began;
  Time left;
  friend auto operator<=>(const Served&, const Served&) = default;
};

Served served(const Plan& plan, const Costs& costs, const Timeline& timeline, TaskId transfer) {
  return {timeline.begin[transfer], timeline.end[transfer] - costs.latency_of(plan, transfer)};
}

/// What is kept for each block takes little beside its tasks.
std::uint32_t block_size_for(const Plan& plan) {
  constexpr std::uint32_t least = 16'384, tasks_a_resource = 8;
  return std::max(least, plan.resources() * tasks_a_resource);
}

}  // namespace

TasksBefore::TasksBefore(const Plan& plan, const Costs& costs, const Timeline& timeline)
    : plan_(plan), in_plan_order_(plan.resources(), 1), block_size_(block_size_for(plan)) {
  for (const WorkClass& work : plan.classes) resource_of_class_.push_back(work.resource);
  follow_plan(costs, timeline);
  std::fill_n(in_plan_order_.begin(), plan.ranks, std::uint8_t{1});
  const bool all =
      std::find(in_plan_order_.begin(), in_plan_order_.end(), 0) == in_plan_order_.end();
  if (!all) follow_service(costs, timeline);
}

/// One pass for what each block needs and for the order of service, which means nothing for ranks.
void TasksBefore::follow_plan(const Costs& costs, const Timeline& timeline) {
  std::vector<TaskId> last(plan_.resources(), no_task);
  std::vector<Time> last_begin(plan_.resources(), Time{-1});
  for (TaskId first = 0; first < plan_.tasks(); first += block_size_) {
    last_in_front_.insert(last_in_front_.end(), last.begin(), last.end());
    const TaskId end = first + std::min(block_size_, plan_.tasks() - first);
    for (TaskId task = first; task < end; ++task) {
      const std::uint32_t resource = resource_of(task);
      const Time begin = timeline.begin[task];
      const TaskId before = std::exchange(last[resource], task);
      // When they left only decides between those that began at one moment.
      if (begin <= last_begin[resource] && before != no_task &&
          served(plan_, costs, timeline, task) < served(plan_, costs, timeline, before)) {
        in_plan_order_[resource] = 0;
      }
      last_begin[resource] = begin;
    }
  }
}

/// For links whose transfers were served in another order.
void TasksBefore::follow_service(const Costs& costs, const Timeline& timeline) {
  served_before_.resize(plan_.tasks());
  ResourceOrders orders = resource_orders(plan_);
  for (std::uint32_t link = plan_.ranks; link < plan_.resources(); ++link) {
    if (in_plan_order_[link] != 0) continue;
    const auto first = orders.tasks.begin() + orders.first[link];
    const auto end = orders.tasks.begin() + orders.first[link + 1];
    std::stable_sort(first, end, [&](TaskId a, TaskId b) {
      return served(plan_, costs, timeline, a) < served(plan_, costs, timeline, b);
    });
    TaskId before = no_task;
    for (auto task = first; task != end; ++task) {
      served_before_[*task] = std::exchange(before, *task);
    }
  }
}

void TasksBefore::enter(std::uint32_t block) {
  block_ = block;
  const auto in_front =
      last_in_front_.begin() + static_cast<std::ptrdiff_t>(std::size_t{block} * plan_.resources());
  std::vector<TaskId> last(in_front, in_front + plan_.resources());
  const TaskId first = block * block_size_;
  before_.resize(std::min(block_size_, plan_.tasks() - first));
  for (std::uint32_t i = 0; i < before_.size(); ++i) {
    before_[i] = std::exchange(last[resource_of(first + i)], first + i);
  }
}

}  // namespace penstock
