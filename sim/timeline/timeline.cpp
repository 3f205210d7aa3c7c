#include "sim/timeline/timeline.hpp"

#include <algorithm>

namespace penstock {

void prepare(const Plan& plan, Timeline& timeline) {
  constexpr Time unknown{-1};
  timeline.begin.assign(plan.tasks(), unknown);
  timeline.end.assign(plan.tasks(), unknown);
  timeline.last_input.assign(plan.tasks(), no_task);
  timeline.slowed.clear();
  timeline.memory_wait.clear();
  timeline.memory.clear();
}

Time makespan(const Plan& /*plan*/, const Timeline& timeline) {
  return timeline.end.empty() ? Time{}
                              : *std::max_element(timeline.end.begin(), timeline.end.end());
}

}  // namespace penstock
