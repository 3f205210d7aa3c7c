#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// The transfers that wait for each task, ascending.
class TransferReaders {
 public:
  explicit TransferReaders(const Plan& plan);

  std::span<const TaskId> of(TaskId task) const {
    const TaskId& reader = reader_[task];
    if (reader == no_task) return {};
    if ((reader & Plan::several) == 0) return {&reader, 1};
    const std::uint32_t* const list = &readers_[reader & ~Plan::several];
    return {list + 1, *list};
  }

 private:
  std::vector<TaskId> reader_;          // by task, encoded as Plan::input
  std::vector<std::uint32_t> readers_;  // lists for tasks with more: their number, then the readers
};

}  // namespace penstock
