#include "sim/rerun/stretch.hpp"

#include <algorithm>

namespace penstock {

Stretch::Stretch(const Plan& plan, std::span<const TaskId> tasks)
    : plan_(plan), tasks_(tasks), new_place_(tasks.size(), unplaced) {
  for (const TaskId task : tasks) by_key_.emplace_back(key_of(task), task);
  std::sort(by_key_.begin(), by_key_.end());
}

TaskId Stretch::find(const Key& key) const {
  const auto found = entry(key);
  return found == by_key_.end() ? no_task : found->second;
}

bool Stretch::put(TaskId task, std::size_t place) {
  std::size_t& known = new_place_[number_of(task)];
  if (known != unplaced) return false;
  known = place;
  return true;
}

Stretch::Key Stretch::key_of(TaskId task) const {
  const WorkClass& work = plan_.class_of(task);
  return {work.stage, plan_.microbatch[task], work.pass};
}

std::vector<Stretch::Entry>::const_iterator Stretch::entry(const Key& key) const {
  const auto found = std::lower_bound(by_key_.begin(), by_key_.end(), Entry{key, 0});
  return found != by_key_.end() && found->first == key ? found : by_key_.end();
}

std::size_t Stretch::number_of(TaskId task) const {
  return static_cast<std::size_t>(entry(key_of(task)) - by_key_.begin());
}

}  // namespace penstock
