#include "validate/job/recorder.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace penstock {

Recorder::Recorder(const std::vector<std::uint32_t>& capacities) : lanes_(capacities.size()) {
  for (std::size_t lane = 0; lane < capacities.size(); ++lane) {
    lanes_[lane].records.resize(capacities[lane]);
  }
}

void Recorder::clear() {
  for (Lane& lane : lanes_) lane.used = 0;
}

void Recorder::add(std::uint32_t lane, TaskId task, Span span) {
  Lane& own = lanes_[lane];
  if (own.used == own.records.size()) throw std::logic_error("a lane of the recorder is full");
  own.records[own.used++] = {task, span};
}

Timeline Recorder::timeline(const Plan& plan, std::uint32_t elsewhere) const {
  Timeline timeline;
  timeline.begin.resize(plan.tasks());
  timeline.end.resize(plan.tasks());
  std::vector<std::uint32_t> times(plan.tasks());
  for (const Lane& lane : lanes_) {
    for (std::uint32_t i = 0; i < lane.used; ++i) {
      const auto& [task, span] = lane.records[i];
      if (task >= plan.tasks()) throw std::logic_error("an unknown task was recorded");
      timeline.begin[task] = span.begin;
      timeline.end[task] = span.end;
      ++times[task];
    }
  }
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (times[task] == 1) continue;
    if (times[task] == 0 && elsewhere > 0) {
      --elsewhere;
      continue;
    }
    throw std::logic_error(fmt::format("task {} was recorded {} times", task, times[task]));
  }
  find_last_inputs(plan, timeline);
  return timeline;
}

}  // namespace penstock
