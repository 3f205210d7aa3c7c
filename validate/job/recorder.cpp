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

Iteration Recorder::by_task(std::uint32_t tasks, std::uint32_t elsewhere) const {
  Iteration spans(tasks);
  std::vector<std::uint32_t> times(tasks);
  for (const Lane& lane : lanes_) {
    for (std::uint32_t i = 0; i < lane.used; ++i) {
      const Record& record = lane.records[i];
      if (record.task >= tasks) throw std::logic_error("a task was recorded that is not there");
      spans[record.task] = record.span;
      ++times[record.task];
    }
  }
  for (TaskId task = 0; task < tasks; ++task) {
    if (times[task] == 1) continue;
    if (times[task] == 0 && elsewhere > 0) {
      --elsewhere;
      continue;
    }
    throw std::logic_error(fmt::format("task {} was recorded {} times", task, times[task]));
  }
  return spans;
}

}  // namespace penstock
