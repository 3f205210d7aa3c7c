#include "gui/models/lanes/link_lanes.hpp"

#include <algorithm>
#include <utility>

#include "gui/models/tracks/stacked_boxes.hpp"

namespace penstock {

Time left_link_at(const ViewedRun& run, TaskId transfer) {
  const Time end = run.timeline.end[transfer] - run.costs.latency_of(run.plan, transfer);
  return std::max(run.timeline.begin[transfer], end);
}

std::vector<std::vector<Track>> link_lanes(const ViewedRun& run) {
  const Plan& plan = run.plan;
  std::vector<std::vector<TaskId>> transfers(plan.links.size());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource) || left_link_at(run, task) <= run.timeline.begin[task]) continue;
    transfers[resource - plan.ranks].push_back(task);
  }
  std::vector<std::vector<Track>> lanes;
  for (std::vector<TaskId>& of_link : transfers) {
    std::stable_sort(of_link.begin(), of_link.end(), [&](TaskId a, TaskId b) {
      return run.timeline.begin[a] < run.timeline.begin[b];
    });
    StackedBoxes boxes(nullptr);
    for (const TaskId task : std::exchange(of_link, {})) {
      boxes.add(run.timeline.begin[task].picoseconds, left_link_at(run, task).picoseconds, task);
    }
    lanes.push_back(boxes.take());
  }
  return lanes;
}

}  // namespace penstock
