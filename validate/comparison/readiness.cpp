#include "validate/comparison/readiness.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace penstock {
namespace {

/// The last input so far.
struct Latest {
  Time at{};
  TaskId by = no_task;

  void see(Time end, TaskId task) {
    if (by == no_task || end > at) *this = {end, task};
  }
};

/// With separate clocks a task may seem to begin before its inputs.
void store(const Timeline& timeline, TaskId task, const Latest& latest, Readiness& readiness) {
  readiness.at[task] = std::min(latest.at, timeline.begin[task]);
  readiness.by[task] = latest.by;
}

void see_inputs(const Plan& plan, const Timeline& timeline, TaskId task, Latest& latest) {
  plan.for_each_input(task, [&](TaskId input) { latest.see(timeline.end[input], input); });
}

/// The actions of one rank, first to last.
template <class Range>
void find_on_rank(const Plan& plan, const Timeline& timeline, const Range& actions,
                  Readiness& readiness) {
  Latest before;
  Latest cell;  // of the first part of a fused cell, at which the second also starts
  for (const TaskId task : actions) {
    Latest latest = plan.class_of(task).follows_partner ? cell : before;
    see_inputs(plan, timeline, task, latest);
    // With blocking sends it may have waited for its own output to leave.
    const TaskId last = timeline.last_input[task];
    if (last != no_task) latest.see(std::min(timeline.end[last], timeline.begin[task]), last);
    store(timeline, task, latest, readiness);
    cell = latest;
    before.see(timeline.end[task], task);
  }
}

}  // namespace

Readiness readiness(const Plan& plan, const Timeline& timeline, const ResourceOrders& orders) {
  Readiness readiness{std::vector<Time>(plan.tasks()), std::vector<TaskId>(plan.tasks(), no_task)};
  const auto on = [&](std::uint32_t resource) {
    return std::span(orders.tasks)
        .subspan(orders.first[resource], orders.first[resource + 1] - orders.first[resource]);
  };
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    find_on_rank(plan, timeline, on(rank), readiness);
  }
  for (std::uint32_t link = plan.ranks; link < plan.resources(); ++link) {
    for (const TaskId transfer : on(link)) {
      Latest latest;
      see_inputs(plan, timeline, transfer, latest);
      store(timeline, transfer, latest, readiness);
    }
  }
  return readiness;
}

std::size_t longest_chain(const Timeline& timeline, const Readiness& readiness) {
  std::vector<TaskId> by_begin(timeline.begin.size());
  std::iota(by_begin.begin(), by_begin.end(), TaskId{0});
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [&](TaskId a, TaskId b) { return timeline.begin[a] < timeline.begin[b]; });
  std::vector<std::size_t> length(by_begin.size());
  std::size_t longest = 0;
  for (const TaskId task : by_begin) {
    const TaskId by = readiness.by[task];
    length[task] = 1 + (by == no_task ? 0 : length[by]);
    longest = std::max(longest, length[task]);
  }
  return longest;
}

ResourceOrders orders_by_time(const Plan& plan, const Timeline& timeline) {
  ResourceOrders orders = resource_orders(plan);
  const auto earlier = [&](TaskId one, TaskId other) {
    return timeline.begin[one] < timeline.begin[other];
  };
  for (std::size_t r = 0; r + 1 < orders.first.size(); ++r) {
    const auto from = orders.tasks.begin() + orders.first[r];
    const auto to = orders.tasks.begin() + orders.first[r + 1];
    if (!std::is_sorted(from, to, earlier)) std::stable_sort(from, to, earlier);
  }
  return orders;
}

}  // namespace penstock
