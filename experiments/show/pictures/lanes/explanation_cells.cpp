#include "experiments/show/pictures/lanes/explanation_cells.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// In the path, the first part of a fused cell represents both.
Time end_of(const Plan& plan, const Timeline& timeline, TaskId task) {
  const bool fused = plan.class_of(task).partner != UINT32_MAX;
  return fused ? std::max(timeline.end[task], timeline.end[task + 1]) : timeline.end[task];
}

}  // namespace

void add_idle(std::vector<Lane>& lanes, const std::vector<IdleGap>& gaps) {
  for (const IdleGap& gap : gaps) {
    if (index(gap.rank) >= lanes.size()) {
      throw InputError(fmt::format("an idle gap is of rank {}, and the plan has {} ranks",
                                   index(gap.rank), lanes.size()));
    }
    Lane& lane = lanes[index(gap.rank)];
    for_each_cause(gap, [&](IdleCause cause, Time begin, Time end) {
      lane.push_back({begin, end, cause, 0, 1, {}});
    });
  }
  for (Lane& lane : lanes) {
    std::stable_sort(lane.begin(), lane.end(),
                     [](const Cell& a, const Cell& b) { return a.begin < b.begin; });
  }
}

std::vector<PathBox> path_boxes(const Plan& plan, const Timeline& timeline,
                                const std::vector<TaskId>& path, Time shortest) {
  std::vector<PathBox> boxes;
  bool short_before = false;
  for (const TaskId task : path) {
    if (task >= plan.tasks() || task >= timeline.begin.size()) {
      throw InputError(fmt::format("the critical path has task {}, and the timeline only {}", task,
                                   timeline.begin.size()));
    }
    const std::uint32_t rank = plan.class_of(task).resource;
    const PathBox box{rank, timeline.begin[task], end_of(plan, timeline, task)};
    if (plan.is_link(rank) || box.begin == box.end) continue;
    const bool is_short = box.end - box.begin < shortest;
    if ((short_before || is_short) && !boxes.empty() && boxes.back().rank == rank &&
        box.begin - boxes.back().end < shortest) {
      boxes.back().end = box.end;
    } else {
      boxes.push_back(box);
    }
    short_before = is_short;
  }
  return boxes;
}

}  // namespace penstock
