#include "sim/timeline.hpp"

#include <algorithm>

namespace penstock {

Time makespan(const Plan& plan, const Timeline& timeline) {
  Time latest{};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).resource < plan.ranks) latest = std::max(latest, timeline.end[task]);
  }
  return latest;
}

}  // namespace penstock
