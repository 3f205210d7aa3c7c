#include "sim/rerun/order_neighbours.hpp"

#include <cstdint>

namespace penstock {
namespace {

/// The rank that issues a transfer.
std::uint32_t maker_of(const Plan& plan, TaskId transfer) {
  std::uint32_t maker = plan.ranks;
  plan.for_each_input(transfer, [&](TaskId input) {
    const std::uint32_t resource = plan.class_of(input).resource;
    if (!plan.is_link(resource)) maker = resource;
  });
  return maker;
}

}  // namespace

std::vector<bool> links_with_several_makers(const Plan& plan) {
  std::vector<std::uint32_t> maker(plan.links.size(), UINT32_MAX);
  std::vector<bool> several(plan.links.size());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource)) continue;
    std::uint32_t& known = maker[resource - plan.ranks];
    const std::uint32_t made_by = maker_of(plan, task);
    if (known == UINT32_MAX) known = made_by;
    if (known != made_by) several[resource - plan.ranks] = true;
  }
  return several;
}

template <class Step>
TaskId OrderNeighbours::next_of_maker(TaskId task, Step step) const {
  TaskId next = step(task);
  const std::uint32_t resource = plan_.class_of(task).resource;
  if (!plan_.is_link(resource) || !several_makers_[resource - plan_.ranks]) return next;
  const std::uint32_t maker = maker_of(plan_, task);
  while (next != no_task && maker_of(plan_, next) != maker) next = step(next);
  return next;
}

TaskId OrderNeighbours::before(TaskId task) const {
  return next_of_maker(task, [this](TaskId from) { return graph_.before(from); });
}

TaskId OrderNeighbours::behind(TaskId task) const {
  return next_of_maker(task, [this](TaskId from) { return graph_.behind(from); });
}

}  // namespace penstock
