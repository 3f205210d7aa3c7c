#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// For every task the transfers that wait for it, ascending.
class TransferReaders {
 public:
  explicit TransferReaders(const Plan& plan);

  std::span<const TaskId> of(TaskId task) const {
    return {transfers_.data() + first_[task], transfers_.data() + first_[task + 1]};
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<TaskId> transfers_;
};

}  // namespace penstock
