#include "sim/timeline/timeline.hpp"

#include <algorithm>
#include <optional>

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

void find_last_inputs(const Plan& plan, Timeline& timeline) {
  timeline.last_input.resize(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    timeline.last_input[task] = last_input_of(plan, timeline.end, task);
  }
}

Time end_ready_at(const Plan& plan, const Timeline& timeline, TaskId transfer, Rank rank) {
  const Time begin = timeline.begin[transfer];
  if (!plan.written || !passes_on(plan.class_of(transfer).pass)) return begin;
  std::optional<Time> ready;
  plan.for_each_input(transfer, [&](TaskId input) {
    const std::uint32_t resource = plan.class_of(input).resource;
    const bool moves = plan.is_link(resource);
    const bool own = moves ? plan.link(resource).from == rank || plan.link(resource).to == rank
                           : resource == index(rank);
    if (own) ready = std::max(ready.value_or(Time{}), timeline.end[input]);
  });
  return std::min(ready.value_or(begin), begin);
}

Time makespan(const Plan& /*plan*/, const Timeline& timeline) {
  if (timeline.end.empty()) return {};
  Time latest = timeline.end.front();
  for (const Time end : timeline.end) latest = std::max(latest, end);
  return latest;
}

}  // namespace penstock
